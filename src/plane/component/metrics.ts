// The metrics of a component: a registry as its flags configure it (hidden and disabled metrics, label values), with
// build information and feature gates.

import type {Naming} from '#src/api/naming.js';
import {release} from '#src/api/version.js';
import type {Meter} from '#src/base/meter.js';
import {MetricsRegistry} from '#src/observe/metrics.js';
import type {OptionsOf} from '#src/options/flag.js';
import type {GateStage} from '#src/options/gate-table.js';
import type {Parsed} from '#src/options/parse.js';
import {versionInfoOf} from '#src/options/parsed-options.js';
import type {metrics as metricFlags} from '#src/options/shared/logging.js';
import {binaryVersion} from '#src/options/versions.js';
import {allowedLabelsOf} from './metric-labels.js';

const stages: Readonly<Record<GateStage, string>> = {alpha: 'ALPHA', beta: 'BETA', stable: '', deprecated: 'DEPRECATED'};

/** Adds the metrics of a component's build and feature gates. */
export const addBuildMetrics = (meter: Meter, parsed: Pick<Parsed<unknown>, 'gates' | 'versions' | 'version'>, naming: Naming): void => {
  const {major, minor, gitVersion, gitCommit, gitTreeState, buildDate, goVersion, compiler, platform} = versionInfoOf(parsed);
  const build = {
    major,
    minor,
    git_version: gitVersion,
    git_commit: gitCommit,
    git_tree_state: gitTreeState,
    build_date: buildDate,
    go_version: goVersion,
    compiler,
    platform,
  };
  const help = "A metric with a constant '1' value, labelled by what the program was built from and what it runs on.";
  meter.gauge({name: `${naming.self}_build_info`, help, labels: Object.keys(build)}).set(1, build);
  const versions = {
    component: naming.prefix,
    binary: release,
    emulation: parsed.versions.emulated,
    min_compat: parsed.versions.minCompatibility,
  };
  meter
    .gauge({
      name: 'version_info',
      help: 'Provides the compatibility version info of the component. The component label is the name of the component, usually kube, but is relevant for aggregated-apiservers.',
      labels: Object.keys(versions),
    })
    .set(1, versions);
  const gates = () => parsed.gates.list().map(({name, stage, enabled}) => [{name, stage: stages[stage]}, enabled ? 1 : 0] as const);
  meter.observed(
    {
      name: `${naming.self}_feature_enabled`,
      help: 'Which feature gates there are, at which stage, and whether each is on.',
      labels: ['name', 'stage'],
      stability: 'BETA',
    },
    gates,
  );
};

/** The flags of a component's metrics. */
export type MetricOptions = Pick<
  OptionsOf<typeof metricFlags>,
  'allowMetricLabels' | 'allowMetricLabelsManifest' | 'disabledMetrics' | 'showHiddenMetricsForVersion'
>;

/**
 * Returns the metrics of a component as its flags configure them. Throws an `OptionError` for an invalid manifest of
 * label values.
 */
export const openMetrics = async (options: MetricOptions): Promise<MetricsRegistry> =>
  new MetricsRegistry({
    process: true,
    disabled: options.disabledMetrics,
    allowedLabels: await allowedLabelsOf(options),
    showsHidden: options.showHiddenMetricsForVersion !== '',
    release: binaryVersion,
  });

/** Returns the metrics of a component with those of the process, its build and its gates. */
export const componentMetrics = async (
  parsed: Pick<Parsed<unknown>, 'gates' | 'versions' | 'version'> & {readonly options: MetricOptions},
  naming: Naming,
): Promise<MetricsRegistry> => {
  const metrics = await openMetrics(parsed.options);
  addBuildMetrics(metrics, parsed, naming);
  return metrics;
};
