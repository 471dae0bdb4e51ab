// The requests that a plugin is called for. Declarations are compared by names on the wire, so they are made with the
// naming of the server.

import type {Kind} from '#src/api/kind.js';
import type {Naming} from '#src/api/naming.js';

export type Operation = 'CREATE' | 'UPDATE' | 'DELETE' | 'CONNECT';

/** A resource, and a subresource of it: empty for the resource itself, `*` for it and all of its subresources. */
export interface Target {
  readonly group: string;
  readonly resource: string;
  readonly subresource: string;
}

/**
 * The requests that a plugin is called for: those with one of the operations, at one of the targets. Without targets,
 * at any resource.
 */
export interface Handles {
  readonly operations: readonly Operation[];
  readonly targets?: readonly Target[];
}

/** Returns the targets of a kind: the resource itself, unless subresources are named. */
export const targetsOf = (naming: Naming, {group, plural}: Kind, ...subresources: readonly string[]): readonly Target[] =>
  (subresources.length > 0 ? subresources : ['']).map(subresource => ({group: naming.group(group), resource: plural, subresource}));

/** Whether a plugin with this declaration is called for a request. */
export const isHandled = ({targets}: Handles, {group, resource, subresource}: Target): boolean =>
  !targets ||
  targets.some(
    target => target.resource === resource && (target.subresource === subresource || target.subresource === '*') && target.group === group,
  );
