"""Units in English and German: to which dimension they belong and how many of its base units they are."""

Reading = tuple[str, float]
"""Dimension and factor."""

_TABLE: dict[Reading, str] = {
    ("time", 1e-9): "ns nanosecond nanoseconds nanosekunde nanosekunden",
    ("time", 1e-6): "µs us microsecond microseconds mikrosekunde mikrosekunden",
    ("time", 1e-3): "ms msec millisecond milliseconds millisekunde millisekunden",
    ("time", 1.0): "s sec secs second seconds sek sekunde sekunden",
    ("time", 60.0): "min mins minute minutes minuten",
    ("time", 3600.0): "h hr hrs hour hours std stunde stunden",
    ("time", 86400.0): "d day days tag tage tagen tages",
    ("time", 604800.0): "week weeks wk wks woche wochen",
    ("time", 1209600.0): "fortnight fortnights",
    ("months", 1.0): "month months mo monat monate monaten monats",
    ("months", 3.0): "quartal quartale quartalen",
    ("months", 12.0): "year years yr yrs jahr jahre jahren jahres",
    ("months", 120.0): "decade decades jahrzehnt jahrzehnte jahrzehnten",
    ("months", 1200.0): "century centuries jahrhundert jahrhunderte jahrhunderten",
    ("share", 1.0): "% percent pct prozent prozents",
    ("share", 0.1): "‰ promille permille",
    ("points", 1.0): "prozentpunkt prozentpunkte prozentpunkten",
    ("points", 0.01): "bp bps basispunkt basispunkte basispunkten",
    ("eur", 1.0): "€ euro euros eur",
    ("usd", 1.0): "$ dollar dollars usd us$",
    ("gbp", 1.0): "£ gbp",
    ("chf", 1.0): "chf franken",
    ("yen", 1.0): "¥ yen jpy",
    ("cent", 1.0): "cent cents ct",
    ("bytes", 0.125): "bit bits",
    ("bytes", 1.0): "b byte bytes",
    ("bytes", 1024.0): "kib kibibyte kibibytes",
    ("bytes", 1024.0**2): "mib mebibyte mebibytes",
    ("bytes", 1024.0**3): "gib gibibyte gibibytes",
    ("bytes", 1024.0**4): "tib tebibyte tebibytes",
    ("length", 1e-9): "nm nanometer nanometers nanometre nanometres",
    ("length", 1e-6): "µm micrometer micrometers micrometre micrometres mikrometer",
    ("length", 1e-3): "mm millimeter millimeters millimetre millimetres millimetern",
    ("length", 1e-2): "cm centimeter centimeters centimetre centimetres zentimeter zentimetern",
    ("length", 1.0): "m meter meters metre metres metern",
    ("length", 1e3): "km kilometer kilometers kilometre kilometres kilometern",
    ("length", 0.0254): "inch inches zoll",
    ("length", 0.3048): "ft foot feet fuss",
    ("length", 0.9144): "yd yard yards",
    ("length", 1609.344): "mi mile miles meile meilen",
    ("mass", 1e-6): "mg milligram milligrams milligramm",
    ("mass", 1e-3): "g gram grams gramm",
    ("mass", 1.0): "kg kilo kilos kilogram kilograms kilogramm",
    ("mass", 1e3): "t ton tons tonne tonnes tonnen",
    ("mass", 0.45359237): "lb lbs pfund",
    ("mass", 0.028349523): "oz ounce ounces unze unzen",
    ("volume", 1e-3): "ml milliliter milliliters millilitre millilitres",
    ("volume", 1.0): "l liter liters litre litres litern",
    ("volume", 3.785411784): "gallon gallons gallone gallonen",
    ("celsius", 1.0): "°c celsius",
    ("fahrenheit", 1.0): "°f fahrenheit",
    ("angle", 1.0): "° degree degrees grad",
    ("frequency", 1.0): "hz hertz",
    ("frequency", 1e3): "khz kilohertz",
    ("frequency", 1e6): "mhz megahertz",
    ("frequency", 1e9): "ghz gigahertz",
    ("power", 1e-3): "mw milliwatt",
    ("power", 1.0): "w watt watts",
    ("power", 1e3): "kw kilowatt kilowatts",
    ("power", 1e6): "megawatt megawatts",
    ("energy", 1.0): "wh wattstunde wattstunden",
    ("energy", 1e3): "kwh kilowattstunde kilowattstunden",
    ("voltage", 1.0): "v volt volts",
    ("voltage", 1e3): "kv kilovolt",
    ("current", 1e-3): "ma milliampere",
    ("current", 1.0): "ampere amperes amp amps",
    ("speed", 1.0): "km/h kmh kph",
    ("speed", 1.609344): "mph",
}
_DECIMAL_BYTES = {
    1: "kb kilobyte kilobytes",
    2: "mb megabyte megabytes",
    3: "gb gigabyte gigabytes",
    4: "tb terabyte terabytes",
}

UNITS: dict[str, tuple[Reading, ...]] = {
    name: (reading,) for reading, names in _TABLE.items() for name in names.split()
}
"""Folded name of a unit to its readings; "kB" is 1000 or 1024 bytes, a pound money or mass."""
UNITS |= {
    name: (("bytes", 1000.0**power), ("bytes", 1024.0**power))
    for power, names in _DECIMAL_BYTES.items()
    for name in names.split()
}
UNITS |= dict.fromkeys(("pound", "pounds"), (("gbp", 1.0), ("mass", 0.45359237)))

ADJECTIVES = {"sekündig": "s", "minütig": "min", "stündig": "h", "tägig": "d", "wöchig": "week", "monatig": "month",
              "jährig": "year", "prozentig": "%"}  # fmt: skip
"""German endings that carry a unit: "72-stündig", "dreitägig"."""

PERIODIC = {"hourly": "h", "daily": "d", "weekly": "week", "monthly": "month", "yearly": "year", "stündlich": "h",
            "täglich": "d", "wöchentlich": "week", "monatlich": "month", "jährlich": "year"}  # fmt: skip
PREFIXES = frozenset("€$£¥")
"""Units that stand before their number."""

TIMES = frozenset({"time", "months"})
