// Selects the behavior of a simulated container: the defaults, then every rule that matches its pod, in order.

import type {Frozen} from '#src/api/key.js';
import type {AnyContainer, Pod} from '#src/api/pod.js';
import {roles, type Role} from '#src/model/pod/spec-containers.js';
import type {LabelSelector} from '#src/api/selectors/label-selector.js';
import type {Pattern} from './pattern.js';
import {inferredSettings} from './inferred-settings.js';
import type {LogEntry} from './log-entry.js';
import {imageNames} from './images.js';
import type {NodeRule} from './node-rule.js';
import type {DeviceRule} from './device-rule.js';
import type {ResourceRule} from './resource-rule.js';
import type {VolumeRule} from './volume-rule.js';
import {exactly, never, type Behavior, type Settings} from './behavior.js';

/** The containers that a rule applies to. Each given list must have a matching item; texts may contain `*`. */
export interface PodMatch {
  readonly namespaces?: readonly Pattern[];
  readonly names?: readonly Pattern[];
  readonly nodes?: readonly Pattern[];
  readonly labels?: LabelSelector;
  readonly annotations?: Readonly<Record<string, Pattern>>;
  readonly ownerKinds?: readonly string[];
  readonly restartPolicies?: readonly string[];
  readonly images?: readonly Pattern[];
  readonly containers?: readonly Pattern[];
  /** Defaults to regular containers, or to all if images or containers are given. */
  readonly roles?: readonly Role[];
}

export interface PodRule {
  readonly match: PodMatch;
  readonly settings: Settings;
}

const simulatedText =
  'container $(CONTAINER_NAME) of pod $(POD_NAMESPACE)/$(POD_NAME) is simulated on node $(NODE_NAME) and runs no program: what it logs is said by "log" in a simulation rule or in the annotation $(BEHAVIOR_ANNOTATION)';

/** The log of a container without any log setting. */
export const simulatedLog: readonly LogEntry[] = [{text: simulatedText, stream: 'stdout', afterMs: 0}];

/**
 * The lowest-priority rules: containers of jobs, init containers and containers without restarts exit after a second.
 */
const builtIn: readonly PodRule[] = [
  {match: {roles: ['init']}, settings: {runFor: exactly(1_000)}},
  {match: {ownerKinds: ['Job']}, settings: {runFor: exactly(1_000)}},
  {match: {restartPolicies: ['Never', 'OnFailure']}, settings: {runFor: exactly(1_000)}},
  {
    match: {roles},
    settings: {
      startAfter: exactly(100),
      pullFor: exactly(0),
      runFor: never,
      exitCodes: [0],
      stopAfter: exactly(1_000),
      stopExitCode: 143,
      log: simulatedLog,
      cpu: {amount: 1},
      memory: {amount: 1024 ** 2},
    },
  },
];

export interface RuleTarget {
  readonly pod: Frozen<Pod>;
  readonly container: Frozen<AnyContainer>;
  readonly role: Role;
}

const some = (patterns: readonly Pattern[] | undefined, text: string): boolean => !patterns || patterns.some(pattern => pattern.test(text));

const matches = (match: PodMatch, {pod: {metadata = {}, spec}, container, role}: RuleTarget): boolean => {
  const {labels, annotations, ownerKinds, restartPolicies} = match;
  const wanted = match.roles ?? (match.images || match.containers ? roles : ['regular']);
  return (
    wanted.includes(role) &&
    (!match.images || imageNames(container.image ?? '').some(name => some(match.images, name))) &&
    some(match.containers, container.name) &&
    some(match.namespaces, metadata.namespace ?? '') &&
    some(match.names, metadata.name ?? '') &&
    some(match.nodes, spec?.nodeName ?? '') &&
    (!labels || labels.matches(metadata.labels)) &&
    (!ownerKinds || (metadata.ownerReferences ?? []).some(({kind, controller}) => controller && ownerKinds.includes(kind))) &&
    (!restartPolicies || restartPolicies.includes(spec?.restartPolicy ?? 'Always')) &&
    (!annotations ||
      Object.entries(annotations).every(
        ([key, pattern]) => metadata.annotations?.[key] !== undefined && pattern.test(metadata.annotations[key]),
      ))
  );
};

/**
 * Returns the behavior of a container: each setting comes from the first matching rule that has it. Priority: the
 * annotation of the pod, the user's rules, settings inferred from the command, the defaults.
 */
export const behaviorOf = (rules: readonly PodRule[], target: RuleTarget): Behavior => {
  const found: Record<string, unknown> = {};
  for (const list of [rules, [{match: {roles}, settings: inferredSettings(target.pod, target.container)}], builtIn]) {
    for (const {match, settings} of list) {
      if (matches(match, target)) for (const [name, value] of Object.entries(settings)) if (!(name in found)) found[name] = value;
    }
  }
  return found as unknown as Behavior; // The last default rule matches every container and has every required setting.
};

/** The user's rules. */
export interface Rules {
  readonly nodes: readonly NodeRule[];
  readonly pods: readonly PodRule[];
  readonly volumes: readonly VolumeRule[];
  /** The devices of drivers of claims. */
  readonly devices: readonly DeviceRule[];
  /** The devices of extended resources. */
  readonly resources: readonly ResourceRule[];
}
export const noRules: Rules = {nodes: [], pods: [], volumes: [], devices: [], resources: []};
