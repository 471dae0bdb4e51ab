/** A program that provides credentials for some images. */
export interface CredentialProvider {
  /** The name of the program in the directory of providers. */
  readonly name: string;
  readonly matchImages: readonly string[];
  /** In ms; undefined if the file has none. */
  readonly defaultCacheDuration: number | undefined;
  /** Of requests to the program and of its responses. */
  readonly apiVersion: string;
  readonly args: readonly string[];
  readonly env: readonly {readonly name: string; readonly value: string}[];
  readonly tokenAttributes: TokenAttributes | undefined;
}

/** How a provider gets a token of the pod's service account. */
export interface TokenAttributes {
  readonly serviceAccountTokenAudience: string;
  /** `Token` or `ServiceAccount`. */
  readonly cacheType: string;
  readonly requireServiceAccount: boolean | undefined;
  readonly requiredServiceAccountAnnotationKeys: readonly string[];
  readonly optionalServiceAccountAnnotationKeys: readonly string[];
}
