import {maxErrors, maxErrorText} from '#src/api/collect-errors.js';
import {StatusError, statusError} from '#src/api/status.js';
import {countOf, type FieldSet} from './field-set.js';
import type {ManagedFieldsEntry} from './managers.js';
import {pathsOf, shownPath} from './path-element.js';

/** The fields of one owner that the intent sets to something else. */
export interface Conflict {
  readonly owner: ManagedFieldsEntry;
  readonly fields: FieldSet;
}

/** An apply that others' fields stand against. Carries them, so that a caller may forgive some. */
export class ApplyConflict extends StatusError {
  readonly conflicts: readonly Conflict[];

  /** The conflicts come by the identities of their owners, each with at least one field. */
  constructor(conflicts: readonly Conflict[]) {
    super(statusOf(conflicts));
    this.conflicts = conflicts;
  }
}

/** An owner as messages name it. Like the original's, they leave out when it last wrote. */
const formatOwner = ({manager = '', subresource, operation, apiVersion}: ManagedFieldsEntry): string => {
  const version = operation === 'Update' ? ` using ${apiVersion}` : '';
  return `${JSON.stringify(manager)}${subresource ? ` with subresource ${JSON.stringify(subresource)}` : ''}${version}`;
};

/** One field as messages show it, with whose it is. */
interface FormattedConflict {
  readonly owner: ManagedFieldsEntry;
  readonly path: string;
}

/** The conflicts that are told of: as many as errors are. The path of each field may be nearly as long as the whole intent. */
const formatConflicts = (conflicts: readonly Conflict[]): FormattedConflict[] => {
  const shown: FormattedConflict[] = [];
  let text = 0;
  for (const {owner, fields} of conflicts) {
    for (const elements of pathsOf(fields)) {
      if (shown.length >= maxErrors || text >= maxErrorText) return shown;
      const path = shownPath(elements);
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
    details: {causes: shown.map(({owner, path}) => ({reason: 'FieldManagerConflict', message: `conflict with ${formatOwner(owner)}`, field: path}))},
  }).status;
};

const messageOf = (shown: readonly FormattedConflict[], count: number): string => {
  const [only] = shown;
  if (only && count === 1) return `Apply failed with 1 conflict: conflict with ${formatOwner(only.owner)}: ${only.path}`;
  const lines = shown.flatMap(({owner, path}, at) => [...(shown[at - 1]?.owner === owner ? [] : [`conflicts with ${formatOwner(owner)}:`]), `- ${path}`]);
  const more = shown.length < count ? [`and ${count - shown.length} more that are not listed`] : [];
  return `Apply failed with ${count} conflicts: ${[...lines, ...more].join('\n')}`;
};
