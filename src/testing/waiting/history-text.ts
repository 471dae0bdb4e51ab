// The history of an object in words, for a test that waited for it in vain.

import type {FlightRecord, ReconcileRecord} from '#src/recorder/records.js';

/** The most records that are told, the last ones. */
const maxLines = 25;

const shown = (value: unknown): string => {
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  return text.length > 60 ? `${text.slice(0, 60)}…` : text;
};

/** Returns what an object went through and what it lacks, in lines. `name` is what it is called. */
export const historyText = (name: string, records: readonly FlightRecord[]): string => {
  const left = records.length > maxLines ? [`  (${records.length - maxLines} earlier records)`] : [];
  const lines = records.slice(-maxLines).map(record => `  ${record.time.slice(11, 23)} ${inWords(record)}`);
  const lacks = lacksOf(records).map(text => `  it lacks: ${text}`);
  return [`what happened to ${name}:`, ...left, ...lines, ...lacks].join('\n');
};

const inWords = (record: FlightRecord): string => {
  switch (record.kind) {
    case 'change': {
      const {type, user, manager, revision, changes = [], changesOmitted = 0, subresource} = record;
      const fields = changes
        .slice(0, 4)
        .map(({path, before, after}) =>
          after === undefined ? `${path} removed` : `${path}: ${before === undefined ? '' : `${shown(before)} -> `}${shown(after)}`,
        );
      const more = changes.length + changesOmitted - fields.length;
      const what = fields.length > 0 ? `: ${fields.join(', ')}${more > 0 ? ` and ${more} more` : ''}` : '';
      return `${type} by ${user}${manager ? ` (${manager})` : ''}${subresource ? ` at ${subresource}` : ''}, revision ${revision}${what}`;
    }
    case 'reconcile':
      return reconciled(record);
    case 'admission':
      return `${record.decision} by admission (${record.by ?? record.plugin})${record.reason === undefined ? '' : `: ${record.reason}`}`;
    case 'scheduling':
      return record.decision === 'node' ? `scheduled to ${record.node}` : `not scheduled: ${record.reason}`;
  }
};

const reconciled = ({controller, key, causes, missed, writes, result, error}: ReconcileRecord): string => {
  const [cause] = causes;
  const why = cause ? ('object' in cause ? `${cause.object.resource} ${cause.object.name} ${cause.type}` : cause.type) : 'unknown';
  const failed = writes.filter(write => write.error !== undefined).map(write => `${write.verb} of ${write.object.resource} failed`);
  const did = writes.length === 0 ? 'wrote nothing' : `${writes.length} writes${failed.length > 0 ? ` (${failed.join(', ')})` : ''}`;
  const missing = missed.length > 0 ? `, missed ${missed.map(({resource, name}) => `${resource} ${name}`).join(', ')}` : '';
  return `reconciled by ${controller} as ${key}, because of ${why}: ${did}${missing}, ${result}${error === undefined ? '' : `: ${error}`}`;
};

interface Conditioned {
  readonly metadata?: {readonly deletionTimestamp?: string; readonly finalizers?: readonly string[]; readonly generation?: number};
  readonly status?: {
    readonly observedGeneration?: number;
    readonly conditions?: readonly {readonly type: string; readonly status: string; readonly reason?: string; readonly message?: string}[];
  };
}

/** What the last state of an object shows that it waits for. */
const lacksOf = (records: readonly FlightRecord[]): string[] => {
  const last = records.findLast(record => record.kind === 'change');
  if (last?.kind !== 'change' || last.type === 'deleted') return [];
  const {metadata = {}, status = {}} = (last.state ?? {}) as Conditioned;
  const conditions = (status.conditions ?? [])
    .filter(condition => condition.status !== 'True')
    .map(
      ({type, status: is, reason, message}) => `condition ${type} is ${is}${reason ? ` (${reason}${message ? `: ${message}` : ''})` : ''}`,
    );
  const finalizers =
    metadata.deletionTimestamp && metadata.finalizers ? [`an end of the finalizers ${metadata.finalizers.join(', ')}`] : [];
  const {generation} = metadata;
  const isBehind = generation !== undefined && status.observedGeneration !== undefined && status.observedGeneration < generation;
  return [...conditions, ...finalizers, ...(isBehind ? [`status of generation ${generation}`] : [])];
};
