import {maxErrors, maxErrorText} from '#src/api/collect-errors.js';
import {StatusError, statusError} from '#src/api/status.js';
import {countOf, type FieldSet} from './field-set.js';
import type {ManagedFieldsEntry} from './managers.js';
import {pathsOf, formatPath} from './fields-v1.js';

// The error of a conflicting apply, with the original's text and causes.

/** The fields of one manager that the intent sets to other values. */
export interface Conflict {
  readonly owner: ManagedFieldsEntry;
  readonly fields: FieldSet;
}

/** An apply that changes fields of other managers. `conflicts` lets a caller ignore some of them. */
export class ApplyConflict extends StatusError {
  readonly conflicts: readonly Conflict[];

  /** `conflicts` are ordered by the managers' identities; each has at least one field. */
  constructor(conflicts: readonly Conflict[]) {
    super(statusOf(conflicts));
    this.conflicts = conflicts;
  }
}

/** Returns a manager as messages name it. Like the original's, the text omits the time of its last write. */
const formatOwner = ({manager = '', subresource, operation, apiVersion}: ManagedFieldsEntry): string => {
  const version = operation === 'Update' ? ` using ${apiVersion}` : '';
  return `${JSON.stringify(manager)}${subresource ? ` with subresource ${JSON.stringify(subresource)}` : ''}${version}`;
};

/** One conflicting field with its manager, formatted for the message. */
interface FormattedConflict {
  readonly owner: ManagedFieldsEntry;
  readonly path: string;
}

/** Returns the conflicts to report, at most as many as errors are reported: the path of each field may be nearly as long as the whole intent. */
const formatConflicts = (conflicts: readonly Conflict[]): FormattedConflict[] => {
  const shown: FormattedConflict[] = [];
  let text = 0;
  for (const {owner, fields} of conflicts) {
    for (const elements of pathsOf(fields)) {
      if (shown.length >= maxErrors || text >= maxErrorText) return shown;
      const path = formatPath(elements);
      shown.push({owner, path});
      text += path.length;
    }
  }
  return shown;
};

const statusOf = (conflicts: readonly Conflict[]) => {
  const shown = formatConflicts(conflicts);
  const count = conflicts.reduce((sum, {fields}) => sum + countOf(fields), 0);
  return statusError('Conflict', messageOf(shown, count), {
    details: {
      causes: shown.map(({owner, path}) => ({reason: 'FieldManagerConflict', message: `conflict with ${formatOwner(owner)}`, field: path})),
    },
  }).status;
};

const messageOf = (shown: readonly FormattedConflict[], count: number): string => {
  const [only] = shown;
  if (only && count === 1) return `Apply failed with 1 conflict: conflict with ${formatOwner(only.owner)}: ${only.path}`;
  const lines = shown.flatMap(({owner, path}, at) => [
    ...(shown[at - 1]?.owner === owner ? [] : [`conflicts with ${formatOwner(owner)}:`]),
    `- ${path}`,
  ]);
  const more = shown.length < count ? [`and ${count - shown.length} more that are not listed`] : [];
  return `Apply failed with ${count} conflicts: ${[...lines, ...more].join('\n')}`;
};
