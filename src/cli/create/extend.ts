// The places of a project that additions extend.

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

/** Adds rules to the ClusterRole of `manifests/rights.yaml`, or with `Role` to the role of its own namespace. */
export const extendRights = (project: Project, rules: string, role: 'ClusterRole' | 'Role' = 'ClusterRole'): void => {
  if (project.text('manifests/rights.yaml').includes(rules)) return;
  project.insert('manifests/rights.yaml', {
    at: new RegExp(`^kind: ${role}\\nmetadata:\\n  name: [\\w-]+\\nrules:\\n`, 'm'),
    with: ([head]) => `${head}${rules}`,
    byHand: `add the rules to its ${role}:\n${rules}`,
  });
};

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
  extendRights(project, "  - apiGroups: ['']\n    resources: [secrets]\n    verbs: [get, create, update]\n", 'Role');
};
