import type {KubeObject} from '#src/api/types.js';
import {headerLength} from '#src/apiserver/registry/record.js';
import type {Resource} from '#src/apiserver/registry/resource.js';
import type {WriteContext} from '#src/apiserver/registry/write-context.js';
import type {StoredRecord} from '#src/storage/store.js';
import type {ChangeReport, FlightRecorder} from '#src/observe/flight-recorder.js';

/** Who writes, as far as the flight recorder notes it. */
export type Writing = Pick<WriteContext, 'user' | 'manager' | 'original' | 'isOwnershipRecorded'>;

/** What a write made of a record of the store. */
interface Change {
  readonly type: ChangeReport['type'];
  readonly object: Readonly<KubeObject>;
  readonly revision: number;
  readonly previous?: number | undefined;
  readonly before?: Buffer | undefined;
  readonly after?: Buffer | undefined;
}

const defaultVerbs = {created: 'create', updated: 'update', deleted: 'delete'} as const;

/** Reports that a record was removed, if there is a flight recorder. */
export const reportRemoval = (
  {settings: {recorder}, ref}: Resource,
  writing: Writing,
  {value: before, revision: previous}: StoredRecord,
  object: Readonly<KubeObject>,
  revision: number,
): void => {
  if (recorder) reportChange(recorder, ref, writing, {type: 'deleted', object, revision, previous, before});
};

/** Reports a change of the store. */
export const reportChange = (
  recorder: FlightRecorder,
  ref: Resource['ref'],
  {user, manager, original, isOwnershipRecorded}: Writing,
  {type, object, revision, previous, before, after}: Change,
): void => {
  const {namespace, name, uid} = object.metadata ?? {};
  // Every report has the same shape.
  recorder.change(
    {
      kind: 'change',
      type,
      object: {group: ref.group, resource: ref.resource, namespace, name, uid},
      verb: isOwnershipRecorded ? 'apply' : (original?.info.verb ?? defaultVerbs[type]),
      subresource: original?.info.resource?.subresource || undefined,
      revision,
      previous,
      user: user.name,
      manager: manager || undefined,
      request: original?.auditId,
    },
    {before, after, jsonFrom: headerLength},
  );
};
