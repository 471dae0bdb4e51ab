// The metrics of volumes that are mounted with SELinux labels, whose names have no prefix.

import type {Gauge, Meter} from '#src/base/meter.js';

/** What can be wrong with the label of a volume. */
export type LabelProblem = 'container' | 'pod_context_mismatch' | 'volume_context_mismatch';

const problems: Readonly<Record<LabelProblem, {readonly what: string; readonly labels: readonly string[]}>> = {
  container: {what: 'Containers whose SELinux label could not be composed', labels: ['access_mode']},
  pod_context_mismatch: {what: 'Pods whose containers use the same volume with different SELinux labels', labels: ['access_mode']},
  volume_context_mismatch: {
    what: 'Pods that need a volume with another SELinux label than it has for other pods',
    labels: ['volume_plugin', 'access_mode'],
  },
};

/** The access mode of a volume and its type, where the metric has it. */
export interface VolumeKind {
  readonly access_mode: string;
  readonly volume_plugin?: string;
}

/** Counts volumes by what is done about their labels. */
export class LabelMetrics {
  readonly #errors: Readonly<Record<LabelProblem, Gauge>>;
  readonly #warnings: Readonly<Record<LabelProblem, Gauge>>;
  readonly #admitted: Gauge;

  constructor(meter: Meter) {
    const gauges = (severity: 'errors' | 'warnings', result: string): Readonly<Record<LabelProblem, Gauge>> => {
      const gauge = (problem: LabelProblem): Gauge => {
        const {what, labels} = problems[problem];
        return meter.gauge({name: `volume_manager_selinux_${problem}_${severity}_total`, help: `${what}: ${result}`, labels});
      };
      return {
        container: gauge('container'),
        pod_context_mismatch: gauge('pod_context_mismatch'),
        volume_context_mismatch: gauge('volume_context_mismatch'),
      };
    };
    this.#errors = gauges('errors', 'the pod does not start, and each attempt counts.');
    this.#warnings = gauges('warnings', 'an error once volumes of this access mode are mounted with labels.');
    this.#admitted = meter.gauge({
      name: 'volume_manager_selinux_volumes_admitted_total',
      help: 'Volumes whose SELinux label is in order.',
      labels: ['volume_plugin', 'access_mode'],
    });
  }

  /** `isError`: whether the pod cannot have the volume. */
  failed(problem: LabelProblem, isError: boolean, kind: VolumeKind): void {
    (isError ? this.#errors : this.#warnings)[problem].add({...kind});
  }

  admitted(kind: Required<VolumeKind>): void {
    this.#admitted.add({...kind});
  }
}
