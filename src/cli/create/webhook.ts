// `plat create webhook`: defaulting and validating webhooks of a kind in a project.

import {naming} from '#src/api/naming.js';
import {extendImports, extendList, extendRights, serveWebhooks, verbs} from './extend.js';
import {kindNames} from './names.js';
import type {Project} from './project.js';

/** Adds webhooks of a kind that is declared: handlers, their test, their configurations, and what serves them. */
export const addWebhook = (project: Project, kind: string): void => {
  const declared = project.kinds().find(({definition: {spec}}) => spec.names.kind === kind);
  if (!declared) throw new Error(`no kind ${kind} is declared in src: add it by plat create api --kind ${kind}`);
  const {spec} = declared.definition;
  const version = spec.versions.find(({storage}) => storage)!.name;
  const {file} = kindNames(kind, spec.group);
  const source = declared.sources.find(path => project.text(path).includes(`version: '${version}'`)) ?? declared.sources[0]!;
  const module = source.replace(/^src\//, '').replace(/\.ts$/, '');
  const {plural} = spec.names;
  const hooks = `${kind.slice(0, 1).toLowerCase()}${kind.slice(1)}Webhooks`;
  const {name} = project;
  const configuration = `${name}-${plural}`;
  project.add(`src/${file}-webhooks.ts`, handlersText(kind, module, name, hooks));
  project.add(`test/${file}-webhooks.test.ts`, testText(kind, module, name));
  extendImports(project, hooks, `${file}-webhooks`);
  extendList(project, 'webhooks', `...${hooks}`);
  extendList(project, 'configurations', `'${configuration}'`);
  serveWebhooks(project);
  const hook = (path: string): string => hookText({configuration, name, plural, group: spec.group, version, kind, path});
  project.insert('manifests/webhooks.yaml', {
    at: /$(?![^])/,
    with: () =>
      ['Mutating', 'Validating']
        .map((type, index) => configurationText(type, configuration, hook(['mutate', 'validate'][index]!)))
        .join(''),
    byHand: 'it is empty',
  });
  const configured = {group: naming('kubernetes').group('admissionregistration'), name: configuration};
  extendRights(
    project,
    ['mutatingwebhookconfigurations', 'validatingwebhookconfigurations'].flatMap(resource =>
      verbs({...configured, resource}, 'get', 'list', 'watch', 'patch'),
    ),
  );
};

/** The label of what a program manages. */
const managedBy = naming('kubernetes').subKey('app', 'managed-by');

const handlersText = (kind: string, module: string, name: string, hooks: string): string =>
  `import {defaulting, invalid, validating} from '@platio/plat/operator';
import {${kind}} from './${module}.js';

/** What the names of objects may take: names of what is made of them get longer. */
const longest = 40;

export const ${hooks} = [
  defaulting(${kind}, object => {
    object.metadata = {...object.metadata, labels: {'${managedBy}': '${name}', ...object.metadata?.labels}};
  }),
  validating(${kind}, function* ({object}) {
    const name = object?.metadata?.name ?? '';
    if (name.length > longest) yield invalid('metadata.name', name, \`must have at most \${longest} characters\`);
  }),
];
`
    .replaceAll('\\`', '`')
    .replaceAll('\\$', '$');

const testText = (kind: string, module: string, name: string): string => `import assert from 'node:assert/strict';
import test from 'node:test';
import {${kind}} from '../src/${module}.js';
import {started} from './plane.js';

const spec = {text: 'hi'};

test('an object gets the label of the operator, and one with a long name is refused', async t => {
  const plane = await started(t);
  const objects = plane.client().resource(${kind});

  const made = await objects.create({metadata: {name: 'short', namespace: 'default'}, spec});
  assert.equal(made.metadata?.labels?.['${managedBy}'], '${name}');
  await assert.rejects(objects.create({metadata: {name: 'a'.repeat(41), namespace: 'default'}, spec}), /at most 40 characters/);
});
`;

interface Hook {
  readonly configuration: string;
  readonly name: string;
  readonly plural: string;
  readonly group: string;
  readonly version: string;
  readonly kind: string;
  readonly path: string;
}

const hookText = ({name, plural, group, version, kind, path}: Hook): string => `  - name: ${path}.${plural}.${group}
    clientConfig:
      service: {namespace: ${name}, name: ${name}, path: /${path}-${group.replaceAll('.', '-')}-${version}-${kind.toLowerCase()}}
    rules:
      - {operations: [CREATE, UPDATE], apiGroups: [${group}], apiVersions: [${version}], resources: [${plural}]}
    failurePolicy: Fail
    timeoutSeconds: 10
    sideEffects: None
    admissionReviewVersions: [v1]
`;

const configurationText = (type: string, name: string, hook: string): string => `---
apiVersion: ${naming('kubernetes').apiVersion('admissionregistration', 'v1')}
kind: ${type}WebhookConfiguration
metadata:
  name: ${name}
webhooks:
${hook}`;
