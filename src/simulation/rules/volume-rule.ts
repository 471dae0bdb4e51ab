import {drawDuration, exactly, type DurationRange} from './behavior.js';
import type {Pattern} from './pattern.js';

/** The steps of the simulated driver on a volume. */
export const volumeSteps = ['provision', 'delete', 'attach', 'detach', 'mount', 'expand'] as const;
export type VolumeStep = (typeof volumeSteps)[number];

type Settings = Readonly<Partial<Record<`${VolumeStep}After`, DurationRange>> & Partial<Record<`${VolumeStep}Error`, string>>>;

/** A rule of volumes: durations and errors of steps. Each given list in `match` must have a matching item. */
export interface VolumeRule {
  readonly match: {
    readonly namespaces?: readonly Pattern[];
    readonly claims?: readonly Pattern[];
    readonly classes?: readonly Pattern[];
    readonly nodes?: readonly Pattern[];
  };
  readonly settings: Settings;
}

/** The volume of a step, by its claim. */
export interface VolumeTarget {
  readonly namespace: string;
  readonly claim: string;
  readonly storageClass: string;
  /** The node that it is provisioned for, attached to or mounted on. */
  readonly node: string;
}

/** The outcome of a step. */
export interface StepBehavior {
  readonly afterMs: number;
  readonly error?: string;
}

const usual = exactly(100);

const matches = ({match}: VolumeRule, {namespace, claim, storageClass, node}: VolumeTarget): boolean =>
  (
    [
      [match.namespaces, namespace],
      [match.claims, claim],
      [match.classes, storageClass],
      [match.nodes, node],
    ] as const
  ).every(([patterns, value]) => !patterns || patterns.some(pattern => pattern.test(value)));

/** Returns the outcome of a step: each setting comes from the first matching rule that has it. */
export const stepOf = (rules: readonly VolumeRule[], step: VolumeStep, target: VolumeTarget): StepBehavior => {
  const own = rules.filter(rule => matches(rule, target));
  const error = own.find(({settings}) => settings[`${step}Error`] !== undefined)?.settings[`${step}Error`];
  const range = own.find(({settings}) => settings[`${step}After`] !== undefined)?.settings[`${step}After`] ?? usual;
  return {
    afterMs: drawDuration(range, `${target.namespace}/${target.claim}/${target.node}/${step}`),
    ...(error === undefined ? {} : {error}),
  };
};
