import {jsonText, parseJson} from '#src/base/json/json.js';
import {isPlainObject, type PlainObject} from '#src/schema/decode/plain.js';
import {applyIntent, type ApplyInput, type ApplyResult} from './apply.js';
import {compareWhole} from './compare.js';
import {ApplyConflict} from './conflicts.js';
import {difference, isEmpty, type FieldSet} from './field-set.js';
import {fieldsOf} from './intent.js';
import {typeMismatches} from './type-mismatches.js';
import type {Writer} from './tracking.js';

/** The manager that takes over the fields of client-side apply, which kept what it had applied in an annotation. */
const clientSideManager = 'kubectl';
/** The limit of all annotations of an object together, in bytes (the API reference, ObjectMeta.annotations). */
const maxAnnotationBytes = 256 * 1024;

type Annotations = Readonly<Record<string, string>>;
const annotationsOf = ({metadata}: PlainObject): Annotations =>
  isPlainObject(metadata) && isPlainObject(metadata['annotations']) ? (metadata['annotations'] as Annotations) : {};

const annotationOf = (object: PlainObject, key: string): string | undefined => {
  const annotations = annotationsOf(object);
  return Object.hasOwn(annotations, key) ? annotations[key] : undefined;
};

/**
 * Applies as `applyIntent` does. For the command line's manager, conflicts over fields that still have the values of
 * the last-applied annotation under `key` are ignored, and an existing annotation is updated to the new intent.
 */
export const applyWithLastApplied = (application: ApplyInput, writer: Writer, key: string): ApplyResult => {
  if (writer.manager !== clientSideManager) return applyIntent(application, writer);
  const {object, entries} = applyIgnoringOwnConflicts(application, writer, key);
  return {object: annotationOf(object, key) ? annotated(object, application.intent, key) : object, entries};
};

const applyIgnoringOwnConflicts = (application: ApplyInput, writer: Writer, key: string): ApplyResult => {
  try {
    return applyIntent(application, writer);
  } catch (error) {
    if (!(error instanceof ApplyConflict)) throw error;
    const ignored = appliedByClient(application, writer, key);
    if (!ignored) throw error;
    const left = error.conflicts
      .map(({owner, fields}) => ({owner, fields: difference(fields, ignored)}))
      .filter(({fields}) => !isEmpty(fields));
    if (left.length > 0) throw new ApplyConflict(left);
    return applyIntent({...application, force: true}, writer);
  }
};

/**
 * Returns the fields that still have the values of the last-applied annotation; undefined without a usable annotation.
 */
const appliedByClient = ({live, node}: ApplyInput, {apiVersion}: Writer, key: string): FieldSet | undefined => {
  const text = annotationOf(live, key);
  if (!text) return undefined;
  const last = parsed(text);
  if (!last || last['apiVersion'] !== apiVersion || typeMismatches(last, node).length > 0) return undefined;
  const {changed, removed} = compareWhole(last, live, node);
  return difference(difference(fieldsOf(last, node), changed), removed);
};

const parsed = (text: string): PlainObject | undefined => {
  try {
    const value = parseJson(text);
    return isPlainObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
};

const annotated = (object: PlainObject, intent: PlainObject, key: string): PlainObject => {
  const metadata = object['metadata'] as PlainObject;
  const {[key]: _, ...others} = annotationsOf(object);
  const annotations = {...others, [key]: `${jsonText(sorted(withoutAnnotation(intent, key)))}\n`};
  return {...object, metadata: {...metadata, annotations: bytesOf(annotations) > maxAnnotationBytes ? others : annotations}};
};

const bytesOf = (annotations: Annotations): number =>
  Object.entries(annotations).reduce((sum, [name, value]) => sum + Buffer.byteLength(name) + Buffer.byteLength(value), 0);

const withoutAnnotation = (intent: PlainObject, key: string): PlainObject => {
  if (annotationOf(intent, key) === undefined) return intent;
  const {[key]: _, ...annotations} = annotationsOf(intent);
  return {...intent, metadata: {...(intent['metadata'] as PlainObject), annotations}};
};

const sorted = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(sorted);
  if (!isPlainObject(value)) return value;
  return Object.fromEntries(
    Object.keys(value)
      .sort()
      .map(name => [name, sorted(value[name])]),
  );
};
