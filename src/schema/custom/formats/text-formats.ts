// The string formats of OpenAPI schemas that are recognised in custom resources, as the go-openapi library defines
// them.

import {isCidr, isIpv4, isIpv6, isMac} from './network-formats.js';
import {isDate, isDateTime, isDuration} from './time-formats.js';
import {isEmail, isHostname, isRequestUri} from './address-formats.js';

const matches =
  (pattern: RegExp) =>
  (text: string): boolean =>
    pattern.test(text);

/** Reports whether the digits satisfy the Luhn checksum. */
const hasLuhnSum = (digits: string): boolean => {
  let sum = 0;
  for (let i = 0; i < digits.length; i++) {
    const digit = Number(digits[digits.length - 1 - i]) * (i % 2 === 1 ? 2 : 1);
    sum += digit > 9 ? digit - 9 : digit;
  }
  return sum % 10 === 0;
};

const cards =
  /^(?:4[0-9]{12}(?:[0-9]{3})?|5[1-5][0-9]{14}|6(?:011|5[0-9][0-9])[0-9]{12}|3[47][0-9]{13}|3(?:0[0-5]|[68][0-9])[0-9]{11}|(?:2131|1800|35\d{3})\d{11})$/;

const isCreditCard = (text: string): boolean => {
  const digits = text.replaceAll(/[^0-9]+/g, '');
  return cards.test(digits) && hasLuhnSum(digits);
};

const withoutSeparators = (text: string): string => text.replaceAll(/[\t\n\f\r -]+/g, '');

const isIsbn10 = (text: string): boolean => {
  const digits = withoutSeparators(text);
  if (!/^(?:[0-9]{9}X|[0-9]{10})$/.test(digits)) return false;
  let sum = 0;
  for (let i = 0; i < 10; i++) sum += (i + 1) * (digits[i] === 'X' ? 10 : Number(digits[i]));
  return sum % 11 === 0;
};

const isIsbn13 = (text: string): boolean => {
  const digits = withoutSeparators(text);
  if (!/^[0-9]{13}$/.test(digits)) return false;
  let sum = 0;
  for (let i = 0; i < 13; i++) sum += Number(digits[i]) * (i % 2 === 0 ? 1 : 3);
  return sum % 10 === 0;
};

/** Reports whether the text is base64 with padding, in the standard alphabet. */
const isBase64 = (text: string): boolean =>
  text !== '' &&
  text.length % 4 === 0 &&
  !/[^A-Za-z0-9+/]/.test(text.endsWith('==') ? text.slice(0, -2) : text.endsWith('=') ? text.slice(0, -1) : text);

const uuid = (version: string, variant: string): ((text: string) => boolean) =>
  matches(new RegExp(`^[0-9a-f]{8}-?[0-9a-f]{4}-?${version}[0-9a-f]{3}-?${variant}[0-9a-f]{3}-?[0-9a-f]{12}$`, 'i'));

const byte = String.raw`(?:0|[1-9]\d?|1\d\d?|2[0-4]\d|25[0-5])`;
const space = String.raw`[\t\n\f\r ]*`;

const nameLabel = /^[a-z0-9](?:[-a-z0-9]*[a-z0-9])?$/;

/** The checks of string formats by name without dashes. Each runs in linear time. */
export const textFormats: ReadonlyMap<string, (text: string) => boolean> = new Map([
  ['bsonobjectid', matches(/^[0-9a-fA-F]{24}$/)],
  ['uri', isRequestUri],
  ['email', isEmail],
  ['hostname', isHostname],
  ['ipv4', isIpv4],
  ['ipv6', isIpv6],
  ['cidr', isCidr],
  ['mac', isMac],
  ['uuid', uuid('[0-9a-f]', '[0-9a-f]')],
  ['uuid3', uuid('3', '[0-9a-f]')],
  ['uuid4', uuid('4', '[89ab]')],
  ['uuid5', uuid('5', '[89ab]')],
  ['isbn', text => isIsbn10(text) || isIsbn13(text)],
  ['isbn10', isIsbn10],
  ['isbn13', isIsbn13],
  ['creditcard', isCreditCard],
  ['ssn', text => text.length === 11 && /^\d{3}[- ]?\d{2}[- ]?\d{4}$/.test(text)],
  ['hexcolor', matches(/^#?(?:[0-9a-fA-F]{3}|[0-9a-fA-F]{6})$/)],
  ['rgbcolor', matches(new RegExp(String.raw`^rgb\(${space}${byte}${space},${space}${byte}${space},${space}${byte}${space}\)$`))],
  ['byte', isBase64],
  ['password', () => true],
  ['date', isDate],
  ['duration', isDuration],
  ['datetime', isDateTime],
  ['k8sshortname', text => text.length <= 63 && nameLabel.test(text)],
  ['k8slongname', text => text.length <= 253 && text.split('.').every(label => nameLabel.test(label))],
]);
