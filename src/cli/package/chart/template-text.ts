// Templates of Helm from objects: an object is written as YAML with words in the places of expressions, which are
// replaced line by line. Text of the object that Helm would read as an expression is escaped.

import {yamlText} from '#src/schema/encode/yaml-text.js';

/** Returns the lines that replace a whole line, from its indentation. */
type Lines = (indent: string) => readonly string[];

/** A word that no name of an object contains, and that YAML writes as it is. */
const wordOf = (index: number): string => `plat--expression--${index}--`;
const word = /plat--expression--(\d+)--/;

/** The expressions of one template. */
export class Template {
  readonly #expressions: (string | Lines)[] = [];

  /** Returns the value of a field that is an expression: `name: {{ .Release.Name }}`. */
  value(expression: string): string {
    return wordOf(this.#expressions.push(`{{ ${expression} }}`) - 1);
  }

  /** Returns the value of a field, or an item of a list, in whose place these lines are. */
  lines(write: Lines): string {
    return wordOf(this.#expressions.push(write) - 1);
  }

  /** Returns the value of a field that is there if the value is not empty: `field: …` from `.Values`. */
  optional(field: string, value: string): string {
    return this.lines(indent => [
      `${indent}{{- with ${value} }}`,
      `${indent}${field}:`,
      `${indent}  {{- toYaml . | nindent ${indent.length + 2} }}`,
      `${indent}{{- end }}`,
    ]);
  }

  /** Returns an item of a list that is there under a condition. */
  itemIf(condition: string, item: unknown): string {
    return this.lines(indent => [`${indent}{{- if ${condition} }}`, ...indented(yamlText([item]), indent), `${indent}{{- end }}`]);
  }

  /** Returns the template of an object, under conditions that must all hold. */
  text(object: unknown, conditions: readonly string[]): string {
    const body = `---\n${yamlText(object).replaceAll('{{', '{{ "{{" }}')}`.split('\n').flatMap(line => this.#written(line));
    const [only, ...more] = conditions;
    if (only === undefined) return body.join('\n');
    return `{{- if ${more.length > 0 ? `and ${conditions.join(' ')}` : only} }}\n${body.join('\n')}{{- end }}\n`;
  }

  #written(line: string): readonly string[] {
    const found = word.exec(line);
    if (!found) return [line];
    const expression = this.#expressions[Number(found[1])]!;
    if (typeof expression === 'string') return this.#written(line.replace(found[0], () => expression));
    return expression(/^ */.exec(line)![0]);
  }
}

/** Returns the lines of a text of YAML with an indentation. */
export const indented = (text: string, indent: string): readonly string[] =>
  text
    .replaceAll('{{', '{{ "{{" }}')
    .trimEnd()
    .split('\n')
    .map(line => `${indent}${line}`);
