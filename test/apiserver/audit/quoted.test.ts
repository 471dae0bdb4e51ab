import test from 'ava';
import {quote} from '#src/apiserver/audit/quoted.js';

test('texts are quoted as JSON, the first time and later, short and long ones, and after many others', t => {
  const texts = ['', 'get', 'RBAC: allowed by "x"', 'a\u2028\n\u0000', '\ud800', 'é', 'x'.repeat(127), 'x'.repeat(129), '__proto__'];
  const others = Array.from({length: 2500}, (_, index) => `agent-${index}`);
  for (const text of [...texts, ...texts, ...others, ...texts, ...others.slice(-3)]) t.is(quote(text), JSON.stringify(text));
});
