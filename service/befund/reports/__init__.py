"""Reports to read: pages of one file each, made from contract types alone.

`markup` writes HTML; `page` is the frame of every report (style, light and dark, tables, figures); `plots` makes
plots of matplotlib that take their colours from the frame. What else lies here belongs to one report.
"""
