namespace Localyun
{
    /// <summary>Takes a piece of an answer while the handler runs.</summary>
    public delegate void Parts(Answer piece);

    /// <summary>What a call is answered with: the kind is the page that it is posted to.</summary>
    public sealed class Answer
    {
        public readonly string Kind;
        public readonly byte[] Body;

        /// <summary>Status and fields of an answer to an HTTP request, as the runtime interface takes them, or null.</summary>
        public readonly string Http;

        public Answer(string kind, byte[] body, string http = null)
        {
            Kind = kind;
            Body = body;
            Http = http;
        }
    }
}
