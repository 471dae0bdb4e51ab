import type {Naming} from '#src/api/naming.js';
import type {AnyContainer, PodSpec} from '#src/api/pod.js';
import {containersOf} from '#src/model/pod/containers.js';
import type {Level} from './policy.js';

/** The pod, or the template of one, that is judged. */
export interface CheckedPod {
  readonly annotations: Readonly<Record<string, string>>;
  readonly spec: Readonly<PodSpec>;
  readonly naming: Naming;
}

/** What a check found wrong: in a few words, and in full. */
export interface Finding {
  readonly reason: string;
  readonly detail: string;
}

export type PodCheck = (pod: CheckedPod) => Finding | undefined;

/** One control of the pod security standards. */
export interface Check {
  readonly id: string;
  readonly level: Exclude<Level, 'privileged'>;
  /** How it is judged from which minor version on, oldest first. */
  readonly since: readonly (readonly [minor: number, check: PodCheck])[];
  /** The check of the lower level that this one makes needless. */
  readonly overrides?: string;
}

export const quoted = (items: Iterable<string>): string => [...items].map(item => `"${item}"`).join(', ');
export const sorted = (items: Iterable<string>): string[] => [...new Set(items)].sort();
export const plural = (count: number, one: string, many = `${one}s`): string => (count === 1 ? one : many);
export const containersNamed = (names: readonly string[]): string => `${plural(names.length, 'container')} ${quoted(names)}`;

/** The names of the containers of which something is so. */
export const containersWhere = (spec: Readonly<PodSpec>, is: (container: AnyContainer) => boolean): string[] => containersOf(spec).filter(is).map(({name}) => name);

/** Who set something: the pod, its containers, or both. */
export const setters = (byPod: boolean, containers: readonly string[]): string[] => [...(byPod ? ['pod'] : []), ...(containers.length > 0 ? [containersNamed(containers)] : [])];

/** Pods of Windows have none of the settings that the newer versions demand. */
export const butOnWindows =
  (check: PodCheck): PodCheck =>
  pod => (pod.spec.os?.name === 'windows' ? undefined : check(pod));

/** In a user namespace root is nobody outside of it (KEP-127). */
export const butInUserNamespace =
  (check: PodCheck): PodCheck =>
  pod => (pod.spec.hostUsers === false ? undefined : check(pod));
