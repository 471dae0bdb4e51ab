import type {Material, OidcProvider} from '#src/transport/settings.js';

/** The `auth-provider` of a user's entry in a kubeconfig. All of it is unchecked input. */
export interface RawProvider {
  readonly name?: unknown;
  readonly config?: Readonly<Record<string, unknown>> | null;
}

/** Parses the provider of a kubeconfig. Throws with the message of upstream's clients. */
export const oidcProvider = (
  {name, config}: RawProvider,
  authority: (data: string | undefined, file: string | undefined) => Material | undefined,
): OidcProvider => {
  if (name !== 'oidc') throw new Error(`no Auth Provider found for name ${JSON.stringify(name ?? '')}`);
  const value = (key: string): string => (typeof config?.[key] === 'string' ? config[key] : '');
  for (const key of ['idp-issuer-url', 'client-id']) if (!value(key)) throw new Error(`Must provide ${key}`);
  const ca = authority(value('idp-certificate-authority-data') || undefined, value('idp-certificate-authority') || undefined);
  return {
    kind: 'oidc',
    issuer: value('idp-issuer-url'),
    clientId: value('client-id'),
    clientSecret: value('client-secret'),
    idToken: value('id-token'),
    refreshToken: value('refresh-token'),
    ...(ca ? {ca} : {}),
  };
};
