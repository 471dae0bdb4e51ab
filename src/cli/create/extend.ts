// The places of a project that additions extend.

import {naming} from '#src/api/naming.js';
import {generatedRightsHead, rightsManifest, rightsOfRoles} from '#src/codegen/rights/roles.js';
import {ruleLine, rulesOf, type Right} from '#src/codegen/rights/rules.js';
import {manifestsOfText} from '#src/plane/manifests/read.js';
import type {Project} from './project.js';

const listEnd = (list: string): RegExp => new RegExp(`(export const ${list}[^=\\n]*= \\[)([^\\]]*?),?\\s*\\];`);

/** Adds a name to a list of `src/operator.ts`. */
export const extendList = (project: Project, list: 'controllers' | 'webhooks' | 'configurations', member: string): void =>
  project.insert('src/operator.ts', {
    at: listEnd(list),
    with: ([, start = '', members = '']) => `${start}${members}${members.trim() ? ', ' : ''}${member}];`,
    byHand: `add ${member} to the list ${list} of it`,
  });

/** Adds an import to `src/operator.ts`, after the last one. */
export const extendImports = (project: Project, name: string, from: string): void =>
  project.insert('src/operator.ts', {
    at: /(?:^import [^;]*;\n)+/m,
    with: ([imports]) => `${imports}import {${name}} from './${from}.js';\n`,
    byHand: `import ${name} from ./${from}.js`,
  });

/** Adds manifests to `manifests/kustomization.yaml`. */
export const extendKustomization = (project: Project, path: string): void => {
  if (project.text('manifests/kustomization.yaml').includes(`- ${path}\n`)) return;
  project.insert('manifests/kustomization.yaml', {
    at: /^resources:\n/m,
    with: ([head]) => `${head}  - ${path}\n`,
    byHand: `add ${path} to its resources`,
  });
};

/** Adds an object to `example.yaml`, if the project still has one. */
export const extendExample = (project: Project, object: string): void => {
  if (project.has('example.yaml')) project.replace('example.yaml', `${project.text('example.yaml').trimEnd()}\n---\n${object}`);
};

/** Adds rights to `manifests/rights.yaml`, as a recording of the tests would. */
export const extendRights = (project: Project, rights: readonly Right[]): void => {
  const path = 'manifests/rights.yaml';
  const lines = rulesOf(rights, undefined).map(rule => `  ${ruleLine(rule)}`);
  const text = project.text(path);
  if (!text.startsWith(generatedRightsHead))
    throw new Error(`${path} was not written by plat generate rbac: add these rights by hand. Nothing was changed\n${lines.join('\n')}`);
  const documents = manifestsOfText(text, path).map(({object}) => object);
  const {name = project.name, namespace = name} = documents.find(({kind}) => kind === 'ServiceAccount')?.metadata ?? {};
  const own = rights.map(right => (right.namespace === project.name ? {...right, namespace} : right));
  project.replace(
    path,
    generatedRightsHead + rightsManifest([...rightsOfRoles(documents), ...own], {name, namespace, naming: naming('kubernetes')}),
  );
};

/** Returns a right for each verb. */
export const verbs = (right: Omit<Right, 'verb'>, ...all: readonly string[]): readonly Right[] => all.map(verb => ({...right, verb}));

/** Lets the API server reach the program's webhooks: a port, a Service, and rights for its certificate. */
export const serveWebhooks = (project: Project): void => {
  const {name} = project;
  if (project.has('manifests/webhooks.yaml')) return;
  project.add(
    'manifests/webhooks.yaml',
    `apiVersion: v1
kind: Service
metadata:
  name: ${name}
  namespace: ${name}
spec:
  selector: {app: ${name}}
  ports:
    - {port: 443, targetPort: webhooks}
`,
  );
  extendKustomization(project, 'webhooks.yaml');
  project.insert('manifests/deployment.yaml', {
    at: /^( +)ports:\n/m,
    with: ([head, indent = '']) => `${head}${indent}  - {name: webhooks, containerPort: 9443}\n`,
    byHand: 'add the port {name: webhooks, containerPort: 9443} to the container',
  });
  // The certificate is kept in a Secret, which all replicas share.
  const secrets = {group: '', resource: 'secrets', namespace: name};
  extendRights(project, [...verbs(secrets, 'create'), ...verbs({...secrets, name: `${name}-webhook-cert`}, 'get', 'update')]);
};
