"""Why a property is broken: the rule or message that decided, the code that sent it, the events it takes."""
