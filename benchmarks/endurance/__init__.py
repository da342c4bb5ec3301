"""A long stretch of mixed load, watched from outside: does anything grow, does the event loop stay quick?"""
