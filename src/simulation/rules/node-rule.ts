import type {Pattern} from './pattern.js';

/** The settings of a node's machine in rules. */
export interface MachineSettings {
  readonly capacity?: Readonly<Record<string, string>>;
  /** Defaults to the capacity, per resource. */
  readonly allocatable?: Readonly<Record<string, string>>;
  readonly labels?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
  readonly taints?: readonly {readonly key: string; readonly value?: string; readonly effect: string}[];
  /** How long after its start it is switched off, in ms, and for how long; for good if not set. */
  readonly stopAfter?: number;
  readonly stopFor?: number;
  /** The most volumes of the simulated driver that can be attached; no limit if not set. */
  readonly maxVolumes?: number;
}

export interface NodeRule {
  /** Names of nodes; every node if not set. */
  readonly names?: readonly Pattern[];
  readonly settings: MachineSettings;
}
