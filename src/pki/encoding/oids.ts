/** Object identifiers used in this folder. */
export const attributeOids = {
  commonName: '2.5.4.3',
  serialNumber: '2.5.4.5',
  country: '2.5.4.6',
  locality: '2.5.4.7',
  province: '2.5.4.8',
  street: '2.5.4.9',
  organization: '2.5.4.10',
  organizationalUnit: '2.5.4.11',
  postalCode: '2.5.4.17',
  /** The UID of a user in a client certificate. */
  userId: '1.3.6.1.4.1.57683.2',
} as const;

/** Extensions of RFC 5280 §4.2. */
export const extensionOids = {
  subjectKeyIdentifier: '2.5.29.14',
  keyUsage: '2.5.29.15',
  subjectAlternativeName: '2.5.29.17',
  basicConstraints: '2.5.29.19',
  nameConstraints: '2.5.29.30',
  authorityKeyIdentifier: '2.5.29.35',
  extendedKeyUsage: '2.5.29.37',
} as const;

export const keyOids = {
  rsa: '1.2.840.113549.1.1.1',
  ec: '1.2.840.10045.2.1',
  ed25519: '1.3.101.112',
} as const;

/** The supported curves by object identifier. */
export const curves = new Map([
  ['1.3.132.0.33', 'P-224'],
  ['1.2.840.10045.3.1.7', 'P-256'],
  ['1.3.132.0.34', 'P-384'],
  ['1.3.132.0.35', 'P-521'],
]);

/** The PKCS #9 attribute that contains requested extensions (RFC 2985 §5.4.2). */
export const extensionRequestOid = '1.2.840.113549.1.9.14';
