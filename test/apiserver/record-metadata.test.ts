import test from 'ava';
import type {KubeObject} from '#src/api/types.js';
import {encodeRecord, labelsJson, metadataJson, recordObject, recordWithoutOwners} from '#src/apiserver/registry/record.js';

const anObject = (metadata: object, rest: object = {spec: {nodeName: 'n'}}): KubeObject =>
  ({kind: 'Pod', apiVersion: 'v1', metadata, ...rest}) as KubeObject;

const owner = (manager: string, fields: object = {'f:spec': {'f:nodeName': {}}}) => ({
  manager,
  operation: 'Update',
  apiVersion: 'v1',
  fieldsType: 'FieldsV1',
  fieldsV1: fields,
});

const nested = {spec: {template: {metadata: {managedFields: [owner('inner')]}, containers: [{name: 'a'}]}, status: 'x'}};

const objects: Readonly<Record<string, KubeObject>> = {
  'no owners': anObject({name: 'a', labels: {app: 'a'}}),
  'no owners, but those of a template': anObject({name: 'a', ownerReferences: [{name: 'b'}]}, nested),
  'owners, and those of a template': anObject({name: 'a', managedFields: [owner('kubectl')]}, nested),
  'owners that come first': anObject({managedFields: [owner('kubectl')], name: 'a', ownerReferences: [{name: 'b'}]}),
  'owners and nothing else': anObject({managedFields: [owner('kubectl')]}),
  'owners in the middle': anObject({name: 'a', managedFields: [owner('a'), owner('b')], finalizers: ['c']}),
  'owners at the end of the object': anObject({name: 'a', managedFields: [owner('kubectl')]}, {}),
  'no owners left': anObject({name: 'a', managedFields: []}),
  ...Object.fromEntries(
    ['}]', '}]}', '}]},', '}],', '"}]},"spec":{', '}]}}', '[{', '"managedFields":[{', '\\', 'é}]},"é"'].map(text => [
      `owners called ${text}`,
      anObject({name: 'a', annotations: {[text]: text}, managedFields: [owner(text), owner('b', {[`v:${text}`]: {}, [text]: {'.': {}}})]}),
    ]),
  ),
  'a list among the fields of owners': anObject({name: 'a', managedFields: [owner('b', {a: [{}], b: {c: [{}]}, spec: {}}), owner('c')]}),
};

for (const [title, object] of Object.entries(objects)) {
  const record = encodeRecord(object);
  test(`the metadata of a record are cut as they are parsed: ${title}`, t => {
    t.deepEqual(JSON.parse(metadataJson(record, 7)), recordObject(record, 7).metadata);
  });
  test(`a record is parsed without its owners, or as a whole: ${title}`, t => {
    const read = recordWithoutOwners(record, 7);
    const whole = recordObject(record, 7);
    const {managedFields = whole.metadata!.managedFields} = read.metadata!;

    t.deepEqual(
      {...read, metadata: {...read.metadata, managedFields}},
      {...whole, metadata: {managedFields: undefined, ...whole.metadata}},
    );
  });
}

test('the owners of fields are not parsed for a row of a table', t => {
  t.deepEqual(recordWithoutOwners(encodeRecord(objects['owners in the middle']!), 7).metadata, {
    name: 'a',
    finalizers: ['c'],
    resourceVersion: '7',
  });
});

test('labels are read, or found absent, also where a record ends with a text that begins as their key does', t => {
  t.is(labelsJson(encodeRecord(anObject({name: 'a', finalizers: ['l/x']}, {}))), undefined);
  t.is(labelsJson(encodeRecord(anObject({name: 'a', labels: {}, finalizers: ['l/x']}, {}))), '{}');
});
