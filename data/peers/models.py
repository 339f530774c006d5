"""Models the metric of an Extra-P text file with Extra-P: one line for each region, with the model and its values
at the scales of the first argument after the file, such as "27,45 64,45"."""

import sys
import warnings

from extrap.fileio.file_reader.text_file_reader import TextFileReader
from extrap.modelers.model_generator import ModelGenerator

warnings.simplefilter("ignore")
experiment = TextFileReader().read_experiment(sys.argv[1])
scales = [tuple(float(value) for value in scale.split(",")) for scale in sys.argv[2].split()]
ModelGenerator(experiment).model_all()
for (path, _), model in experiment.modelers[0].models.items():
    function = model.hypothesis.function
    values = [function.evaluate(scale if len(scale) > 1 else scale[0]) for scale in scales]
    text = function.to_string(*experiment.parameters)
    print(path.name, text, *values, sep="\t")
