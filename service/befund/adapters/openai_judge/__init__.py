"""A judge that asks a model behind any endpoint that speaks OpenAI's protocol.

`forms` writes requests and reads answers, `failures` sorts what can go wrong, `endpoint` makes one call, `judge` owns
retries, deadline and concurrency.
"""
