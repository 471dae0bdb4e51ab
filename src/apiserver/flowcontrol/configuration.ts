import type {Naming} from '#src/api/naming.js';
import {mandatoryObjects, type FlowControlObjects, type FlowSchema, type PriorityLevel} from '#src/resources/flowcontrol/bootstrap.js';
import {excessOf} from './priority-level.js';
import type {Excess} from '#src/apiserver/flowcontrol/fair-queuing/queue-set.js';

/** A level whose specification can be put in force. */
export interface UsableLevel {
  readonly level: PriorityLevel;
  readonly excess: Excess;
}

/**
 * The objects that can be put in force: mandatory ones are there in any case, and schemas are in the order in which
 * they are tried.
 */
export interface UsableObjects {
  readonly levels: ReadonlyMap<string, UsableLevel>;
  readonly schemas: readonly FlowSchema[];
}

const nameOf = ({metadata}: FlowSchema | PriorityLevel): string => metadata?.name ?? '';

const byPrecedence = (one: FlowSchema, other: FlowSchema): number =>
  (one.spec?.matchingPrecedence ?? 0) - (other.spec?.matchingPrecedence ?? 0) || (nameOf(one) < nameOf(other) ? -1 : 1);

/**
 * Returns what of the objects can be put in force: not levels with contradictions, nor schemas that refer to no level.
 */
export const usableObjects = (naming: Naming, {levels, schemas}: FlowControlObjects): UsableObjects => {
  const mandatory = mandatoryObjects(naming);
  const usable = new Map<string, UsableLevel>();
  for (const level of [...levels, ...mandatory.levels]) {
    const excess = excessOf(level);
    if (excess !== undefined && !usable.has(nameOf(level))) usable.set(nameOf(level), {level, excess});
  }
  const found = schemas.filter(({spec}) => usable.has(spec?.priorityLevelConfiguration.name ?? ''));
  const missing = mandatory.schemas.filter(wanted => !found.some(schema => nameOf(schema) === nameOf(wanted)));
  return {levels: usable, schemas: [...found, ...missing].sort(byPrecedence)};
};
