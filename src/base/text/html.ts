const entities: Readonly<Record<string, string>> = {'&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&#34;', "'": '&#39;'};

/** Returns a text in which a browser sees no tag, entity or end of an attribute. */
export const htmlEscaped = (text: string): string => text.replaceAll(/[&<>"']/g, character => entities[character]!);
