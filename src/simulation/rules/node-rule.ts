import type {Pattern} from './pattern.js';

/** The settings of a simulated machine in rules. */
export interface MachineSettings {
  readonly capacity?: Readonly<Record<string, string>>;
  /** Defaults to the capacity, per resource. */
  readonly allocatable?: Readonly<Record<string, string>>;
  readonly labels?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
  readonly taints?: readonly {readonly key: string; readonly value?: string; readonly effect: string}[];
  /** The start of an outage in ms after the start of the machine, and its duration; forever if absent. */
  readonly stopAfter?: number;
  readonly stopFor?: number;
  /** The maximum number of attachable volumes of the simulated driver; absent: no limit. */
  readonly maxVolumes?: number;
}

export interface NodeRule {
  /** Node names; every node if absent. */
  readonly names?: readonly Pattern[];
  readonly settings: MachineSettings;
}
