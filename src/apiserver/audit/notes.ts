import {includes, type AuditedMeta, type AuditLevel, type AuditNotes, type PlainNotes} from '#src/api/audit.js';
import {runSteps} from '#src/base/steps.js';
import {withoutManagedFields} from './managed-fields.js';

/** The notes of one request, of which its events are made. */
export class CollectedNotes implements AuditNotes {
  readonly level: AuditLevel;
  readonly omitsManagedFields: boolean;
  readonly annotations = new Map<string, string>();
  meta: AuditedMeta | undefined;
  requestObject: Buffer | undefined;
  /** The object of a response that another thread encoded. */
  responseObject: Buffer | undefined;

  constructor({level, omitsManagedFields}: Pick<AuditNotes, 'level' | 'omitsManagedFields'>) {
    this.level = level;
    this.omitsManagedFields = omitsManagedFields;
  }

  annotate(key: string, text: string, least: AuditLevel = 'Metadata'): void {
    if (includes(this.level, least) && !this.annotations.has(key)) this.annotations.set(key, text);
  }

  requested(meta: AuditedMeta | undefined, json: () => Buffer | undefined): void {
    // The object changes on its way to the store.
    const {namespace, name, uid, resourceVersion} = meta ?? {};
    this.meta = {namespace, name, uid, resourceVersion};
    if (!includes(this.level, 'Request')) return;
    const object = json();
    this.requestObject = object && this.omitsManagedFields ? runSteps(withoutManagedFields(object)) : object;
  }

  toPlain(responseObject: Buffer | undefined): PlainNotes {
    const {annotations, meta, requestObject} = this;
    return {annotations: [...annotations], meta, requestObject, responseObject};
  }

  add({annotations, meta, requestObject, responseObject}: PlainNotes): void {
    for (const [key, text] of annotations) if (!this.annotations.has(key)) this.annotations.set(key, text);
    this.meta = meta;
    this.requestObject = requestObject && Buffer.from(requestObject);
    this.responseObject = responseObject && Buffer.from(responseObject);
  }
}
