"""The language of properties and its decision: LTL without next, from text to a lasso.

In the order in which a formula passes through: `lexer` and `parser` read the text, `syntax` is what they
build, `signature` says which names there are and refuses others, `meaning` evaluates on one moment of a
run, `grounding` turns the rest into temporal logic over numbered propositions (`core`), `translation`
makes a Büchi automaton of it and `reduction` a smaller one, `product` runs that beside a system,
`reachability` and `nested_search` look for a run it accepts, and `checking` puts all of it together.
"""
