import {StatusError, statusError} from '#src/api/status.js';
import {shownPath} from './path-element.js';
import {identityOf, type ManagedFieldsEntry} from './managers.js';

/** A field that the intent sets to something else than its owner. */
export interface Conflict {
  readonly owner: ManagedFieldsEntry;
  readonly path: readonly string[];
}

/** An apply that others' fields stand against. Carries them, so that a caller may forgive some. */
export class ApplyConflict extends StatusError {
  readonly conflicts: readonly Conflict[];

  constructor(conflicts: readonly Conflict[]) {
    super(statusOf(conflicts));
    this.conflicts = conflicts;
  }
}

/** An owner as messages name it. Like the original's, they leave out when it last wrote. */
const shownOwner = ({manager = '', subresource, operation, apiVersion}: ManagedFieldsEntry): string => {
  const version = operation === 'Update' ? ` using ${apiVersion}` : '';
  return `${JSON.stringify(manager)}${subresource ? ` with subresource ${JSON.stringify(subresource)}` : ''}${version}`;
};

const statusOf = (conflicts: readonly Conflict[]) =>
  statusError('Conflict', messageOf(conflicts), {
    details: {
      causes: conflicts.map(({owner, path}) => ({reason: 'FieldManagerConflict', message: `conflict with ${shownOwner(owner)}`, field: shownPath(path)})),
    },
  }).status;

const messageOf = (conflicts: readonly Conflict[]): string => {
  const [only] = conflicts;
  if (only && conflicts.length === 1) return `Apply failed with 1 conflict: conflict with ${shownOwner(only.owner)}: ${shownPath(only.path)}`;
  const owners = new Map<string, Conflict[]>();
  for (const conflict of conflicts) {
    const identity = identityOf(conflict.owner);
    owners.set(identity, [...(owners.get(identity) ?? []), conflict]);
  }
  const lines = [...owners]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .flatMap(([, theirs]) => [`conflicts with ${shownOwner(theirs[0]!.owner)}:`, ...theirs.map(({path}) => `- ${shownPath(path)}`)]);
  return `Apply failed with ${conflicts.length} conflicts: ${lines.join('\n')}`;
};
