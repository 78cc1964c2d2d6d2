export function sourcesHash(): string;
export function problems(): string[];
