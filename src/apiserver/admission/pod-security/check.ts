// What the checks of the pod security standards share: their form, the texts of findings, and exemptions for Windows
// and user namespaces.

import type {Naming} from '#src/api/naming.js';
import type {AnyContainer, PodSpec} from '#src/api/pod.js';
import {containersOf} from '#src/model/pod/containers.js';
import type {Level} from './policy.js';

/** The pod, or pod template, to check. */
export interface CheckedPod {
  readonly annotations: Readonly<Record<string, string>>;
  readonly spec: Readonly<PodSpec>;
  readonly naming: Naming;
}

/** A violation: its short reason, and its details. */
export interface Finding {
  readonly reason: string;
  readonly detail: string;
}

export type PodCheck = (pod: CheckedPod) => Finding | undefined;

/** One control of the pod security standards. */
export interface Check {
  readonly id: string;
  readonly level: Exclude<Level, 'privileged'>;
  /** The check of each minor version from which it changed, oldest first. */
  readonly since: readonly (readonly [minor: number, check: PodCheck])[];
  /** The check of the lower level that this one replaces. */
  readonly overrides?: string;
}

export const quoteList = (items: Iterable<string>): string => [...items].map(item => `"${item}"`).join(', ');
export const sorted = (items: Iterable<string>): string[] => [...new Set(items)].sort();
export const plural = (count: number, one: string, many = `${one}s`): string => (count === 1 ? one : many);
export const containersNamed = (names: readonly string[]): string => `${plural(names.length, 'container')} ${quoteList(names)}`;

/** The names of the containers that meet a condition. */
export const containersWhere = (spec: Readonly<PodSpec>, is: (container: AnyContainer) => boolean): string[] =>
  containersOf(spec)
    .filter(is)
    .map(({name}) => name);

/** Describes the source of a setting: the pod, its containers, or both. */
export const settingSources = (byPod: boolean, containers: readonly string[]): string[] => [
  ...(byPod ? ['pod'] : []),
  ...(containers.length > 0 ? [containersNamed(containers)] : []),
];

/** Exempts Windows pods, which lack the settings that newer versions require. */
export const exceptOnWindows =
  (check: PodCheck): PodCheck =>
  pod =>
    pod.spec.os?.name === 'windows' ? undefined : check(pod);

/** Exempts pods in a user namespace, where root has no rights outside of it (KEP-127). */
export const exceptInUserNamespace =
  (check: PodCheck): PodCheck =>
  pod =>
    pod.spec.hostUsers === false ? undefined : check(pod);
