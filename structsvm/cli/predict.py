"""``structsvm predict``: partition recordings, tables or images with a model."""

from __future__ import annotations

import argparse

from structsvm.cli.inputs import measured, names_before_reading, read_for
from structsvm.cli.outputs import check_output, check_outputs, writer_for
from structsvm.cli.terminal import Terminal
from structsvm.errors import SettingsError
from structsvm.learner.files import load
from structsvm.support.interrupts import Interrupts

__all__ = ["run"]


def run(args: argparse.Namespace, terminal: Terminal) -> int:
    """Partition the samples, and write or print their partitions.

    Raises
    ------
    SettingsError
        If there are several samples for one file that holds only one.
    """
    learner, output = load(args.model), args.output
    writer = writer_for(learner.problem_, args.maps)
    one_file = output is not None and output.suffix.lower() in writer.suffixes
    into_folder = output is not None and not one_file
    if one_file:
        check_output(args, output)
    names = names_before_reading(args, learner) if into_folder else None
    if names is not None:
        check_outputs(args, writer.places(output, names))
    given = read_for(learner, args, terminal, need_labels=False)
    if into_folder and names is None:
        check_outputs(args, writer.places(output, given.names))
    if one_file and writer.one_each and len(given) > 1:
        raise SettingsError(
            f"{output} is one file for {given.words.wholes(len(given))}: name a folder"
        )
    samples = learner.inputs_(measured(learner, given, terminal))
    with given.named(), terminal.working("partitioning"):
        partitions = learner.decode_with(learner.metric_, samples, args.n_clusters)
    decode = learner.problem_.decode
    answers = [
        writer.answer(name, M, decode(M, sample), time)
        for name, M, sample, time in zip(given.names, partitions, samples, given.times, strict=True)
    ]
    if output is not None:
        with Interrupts():  # all the files or none
            if one_file:
                writer.write_file(output, answers)
            else:
                writer.write_folder(output, given.items, answers)
        terminal.note(writer.written(output, given.words, len(answers), one_file))
    plain = [answer.to_dict() for answer in answers]
    lines = [str(answer) for answer in answers]
    terminal.report({f"{given.words.whole}s": plain}, *(lines if output is None else ()))
    return 0
