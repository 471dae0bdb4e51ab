import type {Naming} from '#src/api/naming.js';
import {readConfiguration} from '#src/apiserver/configuration/document.js';
import {list, record, text} from '#src/apiserver/configuration/fields.js';

/** The issuer of tokens, and the audiences that its tokens must name. */
export interface Issuer {
  readonly url?: string;
  readonly discoveryURL?: string;
  readonly certificateAuthority?: string;
  readonly audiences?: readonly string[];
  readonly audienceMatchPolicy?: string;
  readonly egressSelectorType?: string;
}

export interface ClaimValidationRule {
  readonly claim?: string;
  readonly requiredValue?: string;
  readonly expression?: string;
  readonly message?: string;
}

export interface ClaimOrExpression {
  readonly claim?: string;
  readonly expression?: string;
}

export interface PrefixedClaimOrExpression extends ClaimOrExpression {
  readonly prefix?: string;
}

export interface ExtraMapping {
  readonly key?: string;
  readonly valueExpression?: string;
}

export interface ClaimMappings {
  readonly username?: PrefixedClaimOrExpression;
  readonly groups?: PrefixedClaimOrExpression;
  readonly uid?: ClaimOrExpression;
  readonly extra?: readonly ExtraMapping[];
}

export interface UserValidationRule {
  readonly expression?: string;
  readonly message?: string;
}

/** How tokens of one issuer are verified, and which user they identify. */
export interface JwtAuthenticatorSettings {
  readonly issuer?: Issuer;
  readonly claimValidationRules?: readonly ClaimValidationRule[];
  readonly claimMappings?: ClaimMappings;
  readonly userValidationRules?: readonly UserValidationRule[];
}

/** Whether requests without credentials are served, and on which paths. */
export interface AnonymousSettings {
  readonly enabled?: boolean;
  readonly conditions?: readonly {readonly path?: string}[];
}

/**
 * The AuthenticationConfiguration of `--authentication-config`. Its content is unchecked input until it is validated.
 */
export interface AuthenticationConfiguration {
  readonly jwt?: readonly JwtAuthenticatorSettings[];
  readonly anonymous?: AnonymousSettings;
}

const prefixed = record({claim: text, prefix: text, expression: text});

const fields = {
  jwt: list(
    record({
      issuer: record({
        url: text,
        discoveryURL: text,
        certificateAuthority: text,
        audiences: list(text),
        audienceMatchPolicy: text,
        egressSelectorType: text,
      }),
      claimValidationRules: list(record({claim: text, requiredValue: text, expression: text, message: text})),
      claimMappings: record({
        username: prefixed,
        groups: prefixed,
        uid: record({claim: text, expression: text}),
        extra: list(record({key: text, valueExpression: text})),
      }),
      userValidationRules: list(record({expression: text, message: text})),
    }),
  ),
  anonymous: record({enabled: {type: 'boolean'}, conditions: list(record({path: text}))}),
} as const;

/** Reads an AuthenticationConfiguration of any version. Throws an error of one line. */
export const readAuthenticationConfiguration = (source: string, naming: Naming): AuthenticationConfiguration =>
  readConfiguration<AuthenticationConfiguration>(source, [
    {
      group: naming.group('apiserver.config'),
      versions: ['v1', 'v1beta1', 'v1alpha1'],
      kind: 'AuthenticationConfiguration',
      fields,
    },
  ]);
