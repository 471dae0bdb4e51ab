import {sameJson} from '#src/api/equal.js';
import type {Naming} from '#src/api/naming.js';
import {modeKeys, shownLevel, type Policy} from './policy.js';
import type {PodSecuritySettings} from './settings.js';

/** The namespace, user and runtime class of a pod. */
export interface ExemptionSubject {
  readonly namespace: string;
  readonly username: string;
  readonly runtimeClass?: string | undefined;
}

/** Returns the reason of an exemption; undefined if the pod is not exempt. */
export const exemptionOf = (
  {exempt}: PodSecuritySettings,
  {namespace, username, runtimeClass}: ExemptionSubject,
): 'namespace' | 'user' | 'runtimeClass' | undefined => {
  if (exempt.namespaces.has(namespace)) return 'namespace';
  if (exempt.usernames.has(username)) return 'user';
  return runtimeClass && exempt.runtimeClasses.has(runtimeClass) ? 'runtimeClass' : undefined;
};

const modes = ['enforce', 'audit', 'warn'] as const;

/** The warning for labels of an exempt namespace, which have no effect; undefined if they equal the defaults. */
export const exemptNamespaceWarning = (
  name: string,
  labels: Readonly<Record<string, string>>,
  policy: Policy,
  {defaults}: PodSecuritySettings,
  naming: Naming,
): string | undefined => {
  if (modes.every(mode => policy[mode].level === 'privileged') || modes.every(mode => sameJson(policy[mode], defaults[mode])))
    return undefined;
  const enforcedModes = modes.filter(
    mode => policy[mode].level !== 'privileged' && modeKeys(naming, mode).some(key => labels[key] !== undefined),
  );
  const shown = enforcedModes.map(mode => `${mode}=${shownLevel(policy[mode])}`).join(', ');
  return `namespace ${JSON.stringify(name)} is exempt from Pod Security, and the policy (${shown}) will be ignored`;
};
