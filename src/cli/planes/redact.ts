// Takes out of a report what others must not see. Pure.

/** Names of flags, of fields and of keys whose values are secret. Names of files are not. */
const secretName = /(token|password|passwd|secret|credential|private-?key|api-?key)/i;
const fileName = /(file|path|dir|ttl|audiences|expiration|issuer)$/i;

const hidden = 'REDACTED';

/** Hides the user of a URL, and what looks like a bearer token, a bootstrap token or a private key. */
export const redactText = (text: string): string =>
  text
    .replaceAll(/:\/\/[^\s/@]+@/g, `://${hidden}@`)
    .replaceAll(/\b(bearer|basic)\s+[\w.~+/=-]{8,}/gi, `$1 ${hidden}`)
    .replaceAll(/\beyJ[\w-]{5,}\.[\w-]+\.[\w-]*/g, hidden)
    .replaceAll(/\b[a-z0-9]{6}\.[a-z0-9]{16}\b/g, hidden)
    .replaceAll(/-----BEGIN [A-Z ]*PRIVATE KEY-----[\s\S]*?(-----END [A-Z ]*PRIVATE KEY-----|$)/g, hidden);

/** Returns an argument of a command line, without the value of a flag that is secret. */
export const redactArgument = (argument: string): string => {
  const [, head, name = ''] = /^((?:--[\w-]+=)*--([\w-]+)=)/.exec(argument) ?? [];
  if (head !== undefined && secretName.test(name) && !fileName.test(name)) return `${head}${hidden}`;
  return redactText(argument);
};

/** The annotation with the whole object of kubectl apply. */
const lastApplied = /last-applied-configuration$/;

/** Returns an object of the API without secrets: values of Secrets, and of fields that are named as such. */
export const redactObject = (value: unknown, isSecret = false): unknown => {
  if (typeof value === 'string') return redactText(value);
  if (Array.isArray(value)) return value.map(item => redactObject(item, isSecret));
  if (typeof value !== 'object' || value === null) return value;
  const isVariable = 'name' in value && 'value' in value && typeof value.name === 'string' && secretName.test(value.name);
  return Object.fromEntries(
    Object.entries(value)
      .filter(([key]) => key !== 'managedFields' && !lastApplied.test(key))
      .map(([key, each]) => [key, hides(key, each, isSecret, isVariable) ? hiddenValue(each) : redactObject(each, isSecret)]),
  );
};

const hides = (key: string, value: unknown, isSecret: boolean, isVariable: boolean): boolean =>
  (isSecret && (key === 'data' || key === 'stringData')) ||
  (isVariable && key === 'value') ||
  (typeof value === 'string' && /^(token|password|passwd|clientSecret)$/i.test(key));

/** Keeps the keys of a map. */
const hiddenValue = (value: unknown): unknown =>
  typeof value === 'object' && value !== null ? Object.fromEntries(Object.keys(value).map(key => [key, hidden])) : hidden;
