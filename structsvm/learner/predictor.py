"""Predictions of all methods for new instances, in the form in which these come."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Unpack

from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from structsvm.data import Counts, Instance
from structsvm.errors import SettingsError
from structsvm.learner.form import Form
from structsvm.learner.margin_tables import alarm_margin, margin_tables, most_excess
from structsvm.learner.preparing import encode_prepared, prepared
from structsvm.learner.rules import Rules
from structsvm.learner.segments import named_as_seen, segment_table
from structsvm.learner.stages import Stage
from structsvm.learner.steps import (
    labels_of,
    mean_agreement,
    no_names,
    partition_each,
    refuse_no_segments,
)
from structsvm.learner.training_summary import TrainingSummary
from structsvm.partitions import Found, Model, PartitionProblem

if TYPE_CHECKING:
    from structsvm.learner.stream import Stream


class Predictor:
    """The predictions of a fitted learner."""

    baselines_: dict[str, Any]
    inputs_: Stage
    model_: Model
    n_features_in_: int
    problem_: PartitionProblem
    training_data_: TrainingSummary
    classes_: NDArray[Any] | None = None

    def predict(self, X: Any, n_clusters: Counts = None, **rules: Unpack[Rules]) -> Any:
        """Partition instances: a label vector (T_i,) for each, or a label map for an image.

        A DataWarning names features that a metric relies on and that are constant in an instance,
        and numbers that seem to stand for missing values.

        Parameters
        ----------
        n_clusters : int, or one int per instance, or None
            The exact number of clusters or segments, none of them empty. With None the method
            decides, such as by the learned price.
        **rules
            Constraints on the partitions; the best partition that satisfies them is returned.
            ``known`` : for each instance :class:`~structsvm.PartialLabels`, labels with -1 where
            nothing is known, or None. ``min_length``, ``max_length`` : of segments, in samples.

        Returns
        -------
        list of arrays
            In the form of ``X``.

        Raises
        ------
        DataError, SettingsError
            If two rules contradict each other, or one does not apply to this problem or method.
        OracleError
            If no partition of an instance satisfies the rules.
        """
        form, predictions, instances = self._found(X, n_clusters, rules)
        partitions = [one.partition for one in predictions]
        return form.answer(labels_of(self.problem_, partitions, instances))

    def predict_states(self, X: Any, n_clusters: Counts = None, **rules: Unpack[Rules]) -> Any:
        """Partition instances and name the parts: the name of a state for each item, (T_i,).

        For each pixel, (H, W), where a method names pixels.

        A method that knows states names what it finds. In a metric, the state of a segment (or
        cluster) is the most probable one on average over its items, according to
        :class:`~structsvm.features.StateScores` among the features, or else to the first of the
        baselines that knows names.

        Raises
        ------
        SettingsError
            If the learner knows no names.
        """
        check_is_fitted(self)
        if self.classes_ is None:
            raise SettingsError(no_names(self.problem_))
        form, predictions, instances = self._found(X, n_clusters, rules, named=True)
        pairs = zip(predictions, instances, strict=True)
        return form.answer([named_as_seen(one, x, self.classes_) for one, x in pairs])

    def predict_breakpoints(self, X: Any, n_clusters: Counts = None, **rules: Unpack[Rules]) -> Any:
        """Segment recordings: sorted segment ends for each, the last being T_i (as in ruptures)."""
        check_is_fitted(self)
        refuse_no_segments(self.problem_)
        form, predictions, _ = self._found(X, n_clusters, rules)
        return form.answer([one.partition.breakpoints for one in predictions])

    def predict_partitions(self, X: Any, n_clusters: Counts = None, **rules: Unpack[Rules]) -> Any:
        """Partition instances: an :class:`~structsvm.EquivalenceMatrix` for each."""
        form, predictions, _ = self._found(X, n_clusters, rules)
        return form.answer([one.partition for one in predictions])

    def predict_segments(
        self,
        X: Any,
        n_clusters: Counts = None,
        *,
        margins: bool | None = None,
        tolerance: int | None = None,
        level: float | None = None,
        guaranteed: bool = False,
        **rules: Unpack[Rules],
    ) -> Any:
        """Segment recordings: a table of the segments of each.

        Parameters
        ----------
        n_clusters, rules : as for :meth:`predict`
        margins : bool, optional
            Whether to say how certain each change is, for which the search is done once for each;
            by default where the method can.
        tolerance : int, optional
            The margin of a change compares with the best segmentation that has no change within so
            many samples of it. The default is that of ``margin_rates_``, or 5.
        level : float, optional
            Whether to say where changes may be: ranges of samples that hold about such a share of
            the true changes, as they did in the recordings that ``margin_rates_`` held out.
        guaranteed : bool
            Whether the share is to be that of a person or machine that nobody has seen, which needs
            9 groups for a level of .9 and makes ranges wider.

        Returns
        -------
        list of lists of dict
            In the form of ``X``; ``pandas.DataFrame`` accepts a table. Each segment has ``start``
            and ``end`` (samples ``start, ..., end - 1``); ``time``, that of its start, if known;
            ``state`` and its mean ``probability``, if states are known by name; ``margin`` of the
            change at its start, by how much the best segmentation without a change near it is
            worse, in units of the price of a change in a metric, and of the training loss for a
            :class:`~structsvm.StateSegmenter` (infinite if the rules force it, None for the first
            segment); and ``rate``, the share of changes with such a margin that were right in
            held-out recordings, if :func:`structsvm.margin_rates` counted them. With a ``level``,
            ``from`` and ``to`` are the first and the last sample at which the segment may begin
            (None for the first segment), ``from_time`` and ``to_time`` their times, if known, and
            ``possible`` lists such ranges within the segment, where a change may have been missed.

        Raises
        ------
        SettingsError, DataError
            If partitions are not segmentations, or margins are wanted and the search is not exact;
            if no level can be had: nothing was held out, or too few groups for a guarantee.
        """
        check_is_fitted(self)
        refuse_no_segments(self.problem_)
        form = self._form(X, rules)
        instances = prepared(self, form.instances)
        most = most_excess(self, level, guaranteed)
        if margins or most is not None or (margins is None and self.model_.has_margins):
            tables = margin_tables(self, instances, n_clusters, rules, tolerance, most)
        else:
            predictions, _ = partition_each(self, instances, n_clusters, rules)
            tables = [(one, {}) for one in predictions]
        rows = zip(tables, instances, form.times or [None] * len(instances), strict=True)
        states = self.classes_
        return form.answer(
            [segment_table(one, x, states, times, more) for (one, more), x, times in rows]
        )

    def stream(
        self,
        *,
        tolerance: int | None = None,
        max_candidates: int = 256,
        false_alarm_every: int | None = None,
    ) -> "Stream":
        """Segment a recording that has not ended, as its samples come.

        Parameters
        ----------
        tolerance : int, optional
            A change that moves by so many samples is the same, and its margin compares with the
            best segmentation that has no change within so many samples of it; as for
            :meth:`predict_segments`.
        max_candidates : int
            How many starts of the segment that is running a metric keeps at most; beyond, older
            ones are thinned, and the search is no longer exact. States need no limit.
        false_alarm_every : int, optional
            Report a change once its margin is so large that about one false change is reported in
            so many samples, such as 36,000 for one an hour at 10 Hz; by default all changes are. It
            needs ``margin_rates_`` (:func:`structsvm.margin_rates`).

        Returns
        -------
        Stream
            Its ``push`` takes samples, and returns the changes that are new, final or withdrawn.

        Raises
        ------
        SettingsError
            If the method finds segments in whole recordings alone, or its features or their scale
            depend on the whole recording; with the settings that do not. If no recordings were held
            out to count false alarms, or fewer samples than that.
        """
        from structsvm.learner.stream import Stream  # loads numba

        check_is_fitted(self)
        refuse_no_segments(self.problem_)
        least = alarm_margin(self, false_alarm_every, tolerance)
        return Stream(self, tolerance, max_candidates, least)

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the mean agreement with the labels, for model selection; larger is better.

        This is minus the loss ``|M - M_i|_F^2`` (0 is perfect), or the measure of the problem, such
        as the adjusted Rand index (1 is perfect). The number of clusters is that of the labels if
        the problem takes it for known.
        """
        check_is_fitted(self)
        form = Form.for_learner(self, X)
        instances = prepared(self, form.instances)
        truths = encode_prepared(self, instances, form.labels(y))
        return mean_agreement(self, instances, truths, form.in_order(sample_weight, "weights"))

    # ---- inside

    def _form(self, X: Any, rules: Rules) -> Form:
        """Take the input apart, and put ``known`` labels among the rules in the same order."""
        form = Form.for_learner(self, X)
        form.warn_about_times(getattr(self, "steps_", None))
        if "known" in rules:
            rules["known"] = form.labels(rules["known"], known=True)
        return form

    def _found(
        self, X: Any, n_clusters: Counts, rules: Rules, *, named: bool = False
    ) -> tuple[Form, list[Found], Sequence[Instance]]:
        """What the model finds in instances of any form, and these; ``named`` ones are prepared."""
        check_is_fitted(self)
        form = self._form(X, rules)
        instances = prepared(self, form.instances) if named else form.instances
        return form, *partition_each(self, instances, n_clusters, rules)
