"""Templates of the sentences that people and the assistant write in the generated logs."""

ASKS = (
    "Can you explain how {topic} handles this: {words}?",
    "I am stuck with {topic}: {words}. Any idea?",
    "How would you approach {words} with {topic}?",
    "Please review what I have about {words} in {topic}.",
    "Next task. With {topic} I need {words}. Give me the details, please.",
    "Why does {topic} behave like that with {words}?",
)
LEADS = (
    "Sure, here is an overview.",
    "There are several options.",
    "Let me walk you through it step by step.",
    "In short, it depends. In detail:",
    "Here is what I would do.",
    "Good question. Consider the following points.",
)
ENDS = (
    "Let me know if you want an example.",
    "Shall I turn this into a script?",
    "Tell me which option you prefer.",
    "I can also write the tests.",
    "",
)
FOLLOW_UPS = (
    "And what about {words}?",
    "Hm, that does not work yet: {words}. What am I missing?",
    "Thanks. Can you also show me {words} with {topic}?",
    "I do not understand the part about {words}. Can you say it in other words?",
    "Fine so far. The next thing is {words}, how would you do that?",
    "Could this cause trouble with {words} later?",
    "Please make it shorter and keep only {words}.",
)
OPENINGS = (
    "I am working on the {service} today.",
    "New problem, this time with the {service}.",
    "Back to the {service}.",
    "We have a question about the {service}.",
    "Can we look at the {service} for a moment?",
)
SERVICE_LEADS = (
    "For the {service} I would do the following.",
    "That should work for the {service}. Here is an outline.",
    "Here is a plan for the {service}:",
)
REPEATS = ("Noted: {fact}", "Understood. {fact}", "Thanks, I will remember that. {fact}", "Given that: {fact}")
