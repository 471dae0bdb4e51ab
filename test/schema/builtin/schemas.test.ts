import test from 'ava';
import {markers} from '#src/schema/markers/index.js';
import {goNames} from '#src/schema/error-texts/go-names.js';
import type {SchemaNode} from '#src/schema/node.js';
import {Schemas} from '#src/schema/builtin/schemas.js';

const schemas = new Schemas();

test('every type of every group resolves to the last field', t => {
  const seen = new Set<string>();
  const visit = (node: SchemaNode): void => {
    const id = node.ref ? `${node.ref.group}/${node.ref.version}.${node.ref.name}` : '';
    if (id && seen.has(id)) return;
    if (id) seen.add(id);
    for (const field of node.properties?.values() ?? []) visit(field);
    if (node.items) visit(node.items);
  };
  for (const [name, versions] of Object.entries(markers)) {
    const group = name === 'core' ? '' : name;
    for (const version of Object.keys(versions)) {
      for (const type of schemas.typeNames(group, version)) {
        const node = schemas.of(group, version, type);
        if (node) visit(node);
        else t.fail(`${name}/${version} ${type}`);
      }
    }
  }
  t.true(seen.size > 700);
});

test('facts name fields that exist', t => {
  for (const [name, versions] of Object.entries(markers)) {
    for (const [version, types] of Object.entries(versions)) {
      for (const [type, fields] of Object.entries(types)) {
        const properties = schemas.of(name === 'core' ? '' : name, version, type)?.properties;
        for (const [field, words] of Object.entries(fields)) {
          if (field !== '*' && words !== 'removed') t.true(properties?.has(field), `${name}/${version} ${type}.${field}`);
        }
      }
    }
  }
});

test('a schema has the merge behaviour of its fields, with the facts of 1.35', t => {
  const pod = schemas.of('', 'v1', 'Pod');
  const spec = pod?.properties?.get('spec');
  const volumes = spec?.properties?.get('volumes');

  t.deepEqual(volumes?.patchStrategy, ['merge', 'retainKeys']);
  t.deepEqual([volumes?.listType, volumes?.listMapKeys, volumes?.patchMergeKey], ['map', ['name'], 'name']);
  t.is(spec?.properties?.get('nodeSelector')?.mapType, 'atomic');
  t.is(spec?.properties?.get('workloadRef')?.ref?.name, 'WorkloadReference');
  t.deepEqual([...(schemas.of('certificates', 'v1', 'CertificateSigningRequestSpec')?.required ?? [])], ['request', 'signerName']);
  t.is(spec?.properties?.get('resources')?.properties?.get('limits')?.items?.format, 'quantity');
});

test('names that error texts give types are of fields that there are', t => {
  for (const [groupVersion, names] of Object.entries(goNames)) {
    const [group = '', version = ''] = groupVersion.split('/');
    for (const field of Object.values(names).flatMap(list => list.split(' '))) {
      const [type = '', name = ''] = field.split('.');
      t.truthy(schemas.of(group === 'core' ? '' : group, version, type)?.properties?.get(name), `${groupVersion} ${field}`);
    }
  }
});

test('a type that is not built in has no schema', t => {
  t.is(schemas.of('', 'v1', 'Nothing'), undefined);
  t.is(schemas.of('', 'v1', '__proto__'), undefined);
  t.is(schemas.of('', 'v1', 'constructor'), undefined);
  t.is(schemas.of('apps', 'v9', 'Deployment'), undefined);
});
