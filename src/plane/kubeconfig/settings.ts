/** What connection settings of one administrator say. The data is PEM. */
export interface AdminSettings {
  readonly server: string;
  readonly ca: string;
  readonly certificate: string;
  readonly key: string;
}

const base64 = (text: string): string => Buffer.from(text).toString('base64');

/** Connection settings as every client of the field reads them, with all data embedded. */
export const kubeconfig = ({server, ca, certificate, key}: AdminSettings): string => `apiVersion: v1
kind: Config
clusters:
- name: plat
  cluster:
    server: ${server}
    certificate-authority-data: ${base64(ca)}
users:
- name: plat-admin
  user:
    client-certificate-data: ${base64(certificate)}
    client-key-data: ${base64(key)}
contexts:
- name: plat
  context:
    cluster: plat
    user: plat-admin
current-context: plat
`;
