"""The sentences of verdicts, by code: shared by Python, command line and report."""

from structsvm.learner.methods import ACRONYMS

IN_SENTENCES = {
    "learned": "the learned metric",
    "untrained": "the untrained metric",
    "null": "the weight 0",
    "start": "the weight to start from",
    "scores-untrained": "the untrained metric on the scores of a classifier",
    "grid": "the grid",
    "rca-plain": "plain RCA",
    "frame-logistic": "a frame classifier (logistic)",
    "frame-boosting": "a frame classifier (boosting)",
    "boundary-logistic": "a boundary classifier (logistic)",
    "boundary-boosting": "a boundary classifier (boosting)",
    "equal-segments": "segments of equal length",
    "fixed-times": "the times of the training labels",
    "one-part": "one single part",
    "most-frequent": "the most frequent name alone",
    "region-forest": "a classifier of regions (random forest)",
    "pixel-forest": "a classifier of pixels (random forest)",
    "states": "a segmenter of states",
    "states-quick": "a quick segmenter of states",
    "statistics-olda": "OLDA of lags and moving statistics",
    "lags-olda": "OLDA of lags",
    "statistics-centred": "a metric learned from OLDA of lags and moving statistics",
    "diagonal-quick": "a diagonal metric that is learned in some seconds",
    "frame-lda": "a frame classifier (LDA)",
    "lda-classifier": "a classifier of rows (LDA)",
    "nearest-centroid": "a classifier of rows (nearest centre)",
    "forest-classifier": "a classifier of rows (random forest)",
}
"""Names of methods as sentences have them, by the names that users type."""

ANSWERS = {
    "nothing-held-out": "No verdict: nothing was held out, and what counts is the gain on new "
    "{words.whole}s.",
    "learned-from": "No verdict: {evidence.method} was learned from {evidence.seen} of these "
    "{words.whole}s; leave these out.",
    "too-few": "Too few to tell: {units} cannot support a verdict (at least {least} are needed).",
    "nothing-to-find": "No verdict: no {words.whole} that was held out has two {words.part}s, so "
    "that there is nothing to find.",
    "solved": "Nothing is left to learn: every method has the {evidence.measure} 0.",
    "constant": "Cannot tell: the difference is the same on every {words.whole}, so that its "
    "variation is unknown.",
    "blind": "There is no evidence that the {words.part}s follow from the features: {named}, "
    "whatever is in the {words.whole}, may do as well.",
    "blind-metric": "There is no evidence that learning pays: {named}, whatever is in the "
    "{words.whole}, may do as well.",
    "pays": "Learning pays.",
    "pays-level": "Learning pays, but {named} may do as well.",
    "pays-less": "Learning pays, but {named} does better.",
    "harms": "Learning harms.",
    "untrained": "Learning does not pay here: the untrained metric was chosen.",
    "mostly": "Learning helps more often than not, on {c.won} of {decided} {words.whole}s, which "
    "chance does in {c.chance:.1%} of cases; on average, the difference may be chance.",
    "chance": "There is no evidence that learning pays: the difference may be chance.",
}
"""The first sentence of a verdict, by its code."""

NOTES = {
    "few": "The figures describe {these} only.",
    "label": "Label {more} to find out.",
    "use": "Use {method}: of all methods it has the least {measure}{where}, {loss}.",
    "use-seeing": "Use {method}: of all methods that look at the {words.whole}s it has the least "
    "{measure}{where}, {loss}.",
    "use-names": "Use {method}: it names the most {words.item}s right{where}, {share}, and has the "
    "{measure} {loss}.",
    "use-chosen": "Use {method}: its {measure} is {loss}{where}; that of {other}, {least}, is less "
    "by what may be chance.",
    "use-chosen-names": "Use {method}: it names {share} of the {words.item}s right{where}, and has "
    "the {measure} {loss}; {best} names {more}, more by what may be chance.",
    "use-for-names": "For names use {best}: it names the most {words.item}s right{where}, {more}, "
    "and has the {measure} {lost}.",
    "names-by-chance": "No method names more {words.item}s right than the most frequent name "
    "alone.",
    "use-else": "The least {measure} is that of {other}, {least}.",
    "blind-less": "No method has a smaller {measure} than {blind}, {less}: look for the cause with "
    "diagnose.",
    "way": "{way} uses it.",
    "wanted": "With {enough} independent {wholes} in all, those that are learned from support a "
    "verdict, by cross-validation.",
    "cross-validated": "Too little is held out for a verdict; this one is that of the "
    "cross-validation on the training data.",
    "of parts": "The verdict is that of the cross-validation on the training data.",
    "other way": "The few held-out data point the other way: there the {measure} of {method} is "
    "{contrast}.",
    "predict": "Partition new data with",
    "learn": "Learn it with",
}
"""Sentences that follow the figures of a verdict, or come before a command."""


def baseline_in_words(baseline: str) -> str:
    """A baseline as sentences name it."""
    if baseline in ACRONYMS:
        return baseline.upper()
    return IN_SENTENCES.get(baseline, baseline)


def baseline_title(baseline: str) -> str:
    """A metric or baseline as tables name it."""
    if baseline in ("untrained", "learned"):
        return baseline
    return baseline_in_words(baseline).removeprefix("a ").removeprefix("the ")
