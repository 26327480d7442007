"""The protocols of model APIs: what requests and answers hold, in the same words for all of them."""
