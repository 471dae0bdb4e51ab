import type {Discovered, FoundResource} from '#controllers/shared/discovery.js';
import type {Frozen} from '#src/api/key.js';
import type {Naming} from '#src/api/naming.js';
import type {Namespace} from '#src/api/types.js';
import {messageOf} from '#src/base/message.js';
import type {Leftover} from './content.js';

export type NamespaceCondition = NonNullable<NonNullable<Namespace['status']>['conditions']>[number];

/** The result of deleting a namespace's content. */
export interface ContentDeletion {
  /** Undefined when discovery failed entirely; `discoveryError` is the reason. */
  readonly discovered: Pick<Discovered, 'failed' | 'malformed'> | undefined;
  readonly discoveryError?: unknown;
  readonly leftovers: readonly (readonly [FoundResource, Leftover])[];
}

/** A condition: its problem, and the reasons and messages for both cases. */
interface ConditionRule {
  readonly type: string;
  readonly good: readonly [reason: string, message: (naming: Naming) => string];
  readonly bad: string;
  problem(deletion: ContentDeletion): string | undefined;
}

const listed = (texts: readonly string[], lead: string): string | undefined =>
  texts.length > 0 ? `${lead}: ${[...texts].sort().join(', ')}` : undefined;

/** Formats the groups whose discovery failed, as clients do. */
export const discoveryProblem = ({discovered, discoveryError}: ContentDeletion): string | undefined => {
  if (discoveryError !== undefined) return messageOf(discoveryError);
  return listed(
    [...(discovered?.failed ?? [])].map(([groupVersion, why]) => `${groupVersion}: ${why}`),
    'unable to retrieve the complete list of server APIs',
  );
};

export const parsingProblem = ({discovered}: ContentDeletion): string | undefined => {
  const malformed = discovered?.malformed ?? [];
  return malformed.length > 0 ? malformed.map(text => `unexpected GroupVersion string: ${text}`).join(', ') : undefined;
};

const failures = ({leftovers}: ContentDeletion): string[] =>
  leftovers.flatMap(([, {error}]) => (error === undefined ? [] : [messageOf(error)]));

const countByFinalizer = ({leftovers}: ContentDeletion): Map<string, number> => {
  const total = new Map<string, number>();
  for (const [, {finalizers}] of leftovers)
    for (const [finalizer, count] of finalizers) total.set(finalizer, (total.get(finalizer) ?? 0) + count);
  return total;
};

/** In the order of the status. */
const conditionRules: readonly ConditionRule[] = [
  {
    type: 'NamespaceDeletionDiscoveryFailure',
    good: ['ResourcesDiscovered', () => 'All resources successfully discovered'],
    bad: 'DiscoveryFailed',
    problem(deletion) {
      const count = deletion.discovered?.failed.size ?? 0;
      const problem = discoveryProblem(deletion);
      return problem && count > 0 ? `Discovery failed for some groups, ${count} failing: ${problem}` : problem;
    },
  },
  {
    type: 'NamespaceDeletionGroupVersionParsingFailure',
    good: ['ParsedGroupVersions', ({prefix}) => `All legacy ${prefix} types successfully parsed`],
    bad: 'GroupVersionParsingFailed',
    problem: parsingProblem,
  },
  {
    type: 'NamespaceDeletionContentFailure',
    good: ['ContentDeleted', () => 'All content successfully deleted, may be waiting on finalization'],
    bad: 'ContentDeletionFailed',
    problem: deletion => listed(failures(deletion), `Failed to delete all resource types, ${failures(deletion).length} remaining`),
  },
  {
    type: 'NamespaceContentRemaining',
    good: ['ContentRemoved', () => 'All content successfully removed'],
    bad: 'SomeResourcesRemain',
    problem: ({leftovers}) =>
      listed(
        leftovers
          .filter(([, {count}]) => count > 0)
          .map(([{resource, group}, {count}]) => `${resource}.${group} has ${count} resource instances`),
        'Some resources are remaining',
      ),
  },
  {
    type: 'NamespaceFinalizersRemaining',
    good: ['ContentHasNoFinalizers', () => 'All content-preserving finalizers finished'],
    bad: 'SomeFinalizersRemain',
    problem: deletion =>
      listed(
        [...countByFinalizer(deletion)].map(([finalizer, count]) => `${finalizer} in ${count} resource instances`),
        'Some content in the namespace has finalizers remaining',
      ),
  },
];

/** Returns the updated conditions, or undefined if they are unchanged. Times change with the status. */
export const nextConditions = (
  before: Frozen<readonly NamespaceCondition[]>,
  deletion: ContentDeletion,
  {naming, now}: {readonly naming: Naming; readonly now: string},
): NamespaceCondition[] | undefined => {
  const conditions: NamespaceCondition[] = before.map(condition => ({...condition}) as NamespaceCondition);
  let changed = false;
  for (const {type, good, bad, problem} of conditionRules) {
    const message = problem(deletion);
    const state =
      message === undefined ? {status: 'False', reason: good[0], message: good[1](naming)} : {status: 'True', reason: bad, message};
    const at = conditions.findIndex(condition => condition.type === type);
    const old = conditions[at];
    if (old && old.status === state.status && old.reason === state.reason && old.message === state.message) continue;
    changed = true;
    const next = {
      type,
      ...state,
      lastTransitionTime: old && old.status === state.status ? old.lastTransitionTime : now,
    } as NamespaceCondition;
    if (old) conditions[at] = next;
    else conditions.push(next);
  }
  return changed ? conditions : undefined;
};
