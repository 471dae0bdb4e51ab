/** The connection settings of an administrator. The data is PEM. */
export interface AdminSettings {
  readonly server: string;
  readonly ca: string;
  readonly certificate: string;
  readonly key: string;
}

/** The names of a plane's entries in a kubeconfig file: of cluster and context, and of the user. */
export interface EntryNames {
  readonly context: string;
  readonly user: string;
}

/** The context of a plane without a name. */
export const defaultContext = 'plat';

/** The names of the `index`-th plane in a file that would have the same context. */
export const entryNames = (index = 1, base = defaultContext): EntryNames => {
  const context = index === 1 ? base : `${base}-${index}`;
  return {context, user: `${context}-admin`};
};

/** The extension of a cluster entry that identifies the plane that wrote it. */
export const planeExtension = 'plane';

const base64 = (text: string): string => Buffer.from(text).toString('base64');

/** The fields of the settings in a kubeconfig file. */
export const encoded = ({server, ca, certificate, key}: AdminSettings) => ({
  cluster: {server, 'certificate-authority-data': base64(ca)},
  user: {'client-certificate-data': base64(certificate), 'client-key-data': base64(key)},
});

/** A kubeconfig file with one context and all data embedded. `directory` identifies the plane that wrote it. */
export const kubeconfig = (settings: AdminSettings, directory?: string, context = defaultContext): string => {
  const {cluster, user} = encoded(settings);
  const names = entryNames(1, context);
  return `apiVersion: v1
kind: Config
clusters:
- name: ${names.context}
  cluster:
    server: ${cluster.server}
    certificate-authority-data: ${cluster['certificate-authority-data']}
${
  directory === undefined
    ? ''
    : `    extensions:
    - name: ${planeExtension}
      extension:
        directory: ${JSON.stringify(directory)}
`
}users:
- name: ${names.user}
  user:
    client-certificate-data: ${user['client-certificate-data']}
    client-key-data: ${user['client-key-data']}
contexts:
- name: ${names.context}
  context:
    cluster: ${names.context}
    user: ${names.user}
current-context: ${names.context}
`;
};
